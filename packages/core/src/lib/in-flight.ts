/**
 * The items in progress. A `Set` or `Map` would keep items that ended: V8 links each outgrown table of theirs to the next, and an
 * old table keeps its entries alive until the next major collection.
 */
export class InFlight<T> {
  /** Each at its slot; undefined where one has ended. */
  readonly items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** Takes one in; returns its slot, which belongs to it until {@link delete} is called with it, once. */
  add(item: T): number {
    const slot = this.#free.pop() ?? this.items.length;
    this.items[slot] = item;
    return slot;
  }

  delete(slot: number): void {
    this.items[slot] = undefined;
    this.#free.push(slot);
  }
}
