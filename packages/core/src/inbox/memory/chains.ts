/** What {@link Chains} say when there is no slot. */
export const none = -1;

/**
 * Slots by a hash of 32 bits, those of one hash in the order in which they were added: a table in typed arrays, into which
 * the collector never looks, however many there are.
 */
export class Chains {
  readonly #shift: number;
  // The first and the last slot of each chain, side by side: what is read together is fetched from memory together.
  readonly #ends: Int32Array;
  readonly #before: Int32Array;
  readonly #after: Int32Array;

  /** For so many slots, in so many chains: a power of two above 1. */
  constructor(slots: number, places: number = slots) {
    this.#shift = 32 - Math.log2(places);
    this.#ends = new Int32Array(2 * places).fill(none);
    this.#before = new Int32Array(slots);
    this.#after = new Int32Array(slots);
  }

  /** The first of those with this hash, among which others may be. */
  first(hash: number): number {
    return this.#ends[this.#firstOf(hash)] ?? none;
  }

  /** The next of those among which `slot` is. */
  after(slot: number): number {
    return this.#after[slot] ?? none;
  }

  add(hash: number, slot: number): void {
    const first = this.#firstOf(hash);
    const last = this.#ends[first + 1] ?? none;
    if (last === none) this.#ends[first] = slot;
    else this.#after[last] = slot;
    this.#ends[first + 1] = slot;
    this.#before[slot] = last;
    this.#after[slot] = none;
  }

  /** Takes out a slot that was added with this hash. */
  remove(hash: number, slot: number): void {
    const first = this.#firstOf(hash);
    const before = this.#before[slot] ?? none;
    const after = this.#after[slot] ?? none;
    if (before === none) this.#ends[first] = after;
    else this.#after[before] = after;
    if (after === none) this.#ends[first + 1] = before;
    else this.#before[after] = before;
  }

  #firstOf(hash: number): number {
    return 2 * (hash >>> this.#shift);
  }
}

/** A hash of so many words. The two `seeds`, which nobody knows, keep a sender from choosing what falls together. */
export function hashOf(
  words: Uint32Array,
  from: number,
  length: number,
  seeds: Uint32Array,
): number {
  const [start = 0, factor = 0] = seeds;
  let hash = start;
  for (let at = from; at < from + length; at++) {
    hash = Math.imul(hash ^ (words[at] ?? 0), factor | 1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hash ^= hash >>> 12;
  }
  return hash;
}
