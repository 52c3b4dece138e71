/** What {@link Chains} say when there is no slot. */
export const none = -1;

/**
 * Slots by a hash of 32 bits, those of one hash in the order in which they were added: a table in typed arrays, into which
 * the collector never looks, however many there are.
 */
export class Chains {
  readonly #shift: number;
  readonly #firsts: Int32Array;
  readonly #lasts: Int32Array;
  readonly #before: Int32Array;
  readonly #after: Int32Array;

  /** For so many slots, in so many chains: a power of two above 1. */
  constructor(slots: number, places: number = slots) {
    this.#shift = 32 - Math.log2(places);
    this.#firsts = new Int32Array(places).fill(none);
    this.#lasts = new Int32Array(places).fill(none);
    this.#before = new Int32Array(slots);
    this.#after = new Int32Array(slots);
  }

  /** The first of those with this hash, among which others may be. */
  first(hash: number): number {
    return this.#firsts[this.#placeOf(hash)] ?? none;
  }

  /** The next of those among which `slot` is. */
  after(slot: number): number {
    return this.#after[slot] ?? none;
  }

  add(hash: number, slot: number): void {
    const place = this.#placeOf(hash);
    const last = this.#lasts[place] ?? none;
    if (last === none) this.#firsts[place] = slot;
    else this.#after[last] = slot;
    this.#lasts[place] = slot;
    this.#before[slot] = last;
    this.#after[slot] = none;
  }

  /** Takes out a slot that was added with this hash. */
  remove(hash: number, slot: number): void {
    const place = this.#placeOf(hash);
    const before = this.#before[slot] ?? none;
    const after = this.#after[slot] ?? none;
    if (before === none) this.#firsts[place] = after;
    else this.#after[before] = after;
    if (after === none) this.#lasts[place] = before;
    else this.#before[after] = before;
  }

  #placeOf(hash: number): number {
    return hash >>> this.#shift;
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
