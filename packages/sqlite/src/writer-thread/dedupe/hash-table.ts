import { getRandomValues } from "node:crypto";

const wordsOfSlot = 3;
const firstSlots = 1_024;

/** A hash of 64 bits. */
export type Hash = readonly [high: number, low: number];

/**
 * A number for each hash of 64 bits: twelve bytes an entry in one typed array, where a Map would take a hundred. The
 * numbers have to be confirmed: two keys may have the same hash.
 */
export class HashTable {
  readonly #base: number;
  #words: Uint32Array = new Uint32Array(firstSlots * wordsOfSlot);
  #size = 0;

  /** Numbers must be above `base`, by less than 2^32. */
  constructor(base: number) {
    this.#base = base;
  }

  get size(): number {
    return this.#size;
  }

  /** The number stored for a hash, or null. */
  get([high, low]: Hash): number | null {
    const number = this.#words[this.#find(high, low) + 2] ?? 0;
    return number === 0 ? null : this.#base + number;
  }

  /** Replaces the number that the hash had. */
  set([high, low]: Hash, number: number): void {
    const at = this.#find(high, low);
    if (this.#words[at + 2] === 0) this.#size++;
    this.#words[at] = high;
    this.#words[at + 1] = low;
    this.#words[at + 2] = number - this.#base;
    if (this.#size * wordsOfSlot * 1.5 > this.#words.length) this.#grow();
  }

  /** The place where a hash is, or would be. */
  #find(high: number, low: number): number {
    const words = this.#words;
    const last = words.length / wordsOfSlot - 1;
    let slot = mixed(high, low) & last;
    for (;;) {
      const at = slot * wordsOfSlot;
      if (words[at + 2] === 0 || (words[at] === high && words[at + 1] === low)) return at;
      slot = (slot + 1) & last;
    }
  }

  #grow(): void {
    const old = this.#words;
    this.#words = new Uint32Array(old.length * 2);
    for (let from = 0; from < old.length; from += wordsOfSlot) {
      if (old[from + 2] === 0) continue;
      const [high = 0, low = 0] = [old[from], old[from + 1]];
      const to = this.#find(high, low);
      this.#words[to] = high;
      this.#words[to + 1] = low;
      this.#words[to + 2] = old[from + 2] ?? 0;
    }
  }
}

// Unknown to senders, so that they can't choose keys that collide.
const [oddOne = 1, oddTwo = 1, offset = 0] = getRandomValues(new Uint32Array(3)).map((n) => n | 1);

function mixed(high: number, low: number): number {
  let hash = Math.imul(high ^ offset, oddOne);
  hash = Math.imul((hash ^ (hash >>> 15)) + low, oddTwo);
  return (hash ^ (hash >>> 13)) >>> 0;
}
