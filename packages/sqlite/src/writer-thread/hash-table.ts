import { getRandomValues } from "node:crypto";

const wordsOfSlot = 3;
const firstSlots = 1_024;
/** Slots for each number, at least: with fewer, a search would pass many others. */
const slotsPerNumber = 1.5;
const maxWord = 2 ** 32 - 1;

/** A hash of 64 bits. */
export type Hash = readonly [high: number, low: number];

/**
 * A number for each hash of 64 bits: twelve bytes an entry in one typed array, where a Map would take a hundred. Numbers only
 * grow, and the last ones alone are kept.
 */
export class HashTable {
  readonly #kept: number;
  readonly #maxWords: number;
  /** The slots hold numbers above this one, less it. */
  #base = 0;
  #words: Uint32Array = new Uint32Array(firstSlots * wordsOfSlot);
  #size = 0;

  /** Numbers may be gone that are below the greatest one by `kept` or more. */
  constructor(kept: number) {
    this.#kept = kept;
    // Some more than needed, so that not each new number has old ones dropped.
    this.#maxWords = Math.max(firstSlots, 2 ** Math.ceil(Math.log2(1.6 * kept))) * wordsOfSlot;
  }

  /** The number stored for a hash, or null. */
  get([high, low]: Hash): number | null {
    const number = this.#words[this.#find(high, low) + 2] ?? 0;
    return number === 0 ? null : this.#base + number;
  }

  /** Replaces the number that the hash had. */
  set([high, low]: Hash, number: number): void {
    const isFull = this.#size * slotsPerNumber * wordsOfSlot >= this.#words.length;
    if (isFull || number - this.#base > maxWord) this.#rebuild(number - this.#kept);
    if (number > this.#base) this.#put(high, low, number - this.#base);
  }

  #put(high: number, low: number, word: number): void {
    const at = this.#find(high, low);
    if (this.#words[at + 2] === 0) this.#size++;
    this.#words[at] = high;
    this.#words[at + 1] = low;
    this.#words[at + 2] = word;
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

  /** Drops the numbers up to this one, and makes room for more. */
  #rebuild(dropped: number): void {
    const old = this.#words;
    const by = Math.max(0, dropped - this.#base);
    this.#base += by;
    this.#words = new Uint32Array(Math.min(2 * old.length, this.#maxWords));
    this.#size = 0;
    for (let from = 0; from < old.length; from += wordsOfSlot) {
      const word = old[from + 2] ?? 0;
      if (word > by) this.#put(old[from] ?? 0, old[from + 1] ?? 0, word - by);
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
