/** What {@link Chains} say when there is no slot. */
export const none = -1;

/**
 * Slots by a hash of 32 bits, those of one hash in the order in which they were added: a table in typed arrays, into which
 * the collector never looks, however many there are.
 */
export class Chains {
  readonly #shift: number;
  readonly #seeds: Uint32Array;
  readonly #firsts: Int32Array;
  readonly #lasts: Int32Array;
  readonly #before: Int32Array;
  readonly #after: Int32Array;

  /**
   * For so many slots, a power of two above 1. The two `seeds` keep a sender from choosing what falls together; without
   * them there is one chain, that of the hash 0.
   */
  constructor(slots: number, seeds?: Uint32Array) {
    const places = seeds === undefined ? 2 : slots;
    this.#shift = 32 - Math.log2(places);
    this.#seeds = seeds ?? new Uint32Array(2);
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
    const [mask = 0, factor = 0] = this.#seeds;
    return Math.imul(hash ^ mask, factor | 1) >>> this.#shift;
  }
}
