/** An item of one {@link InFlight} at a time. */
export interface InFlightItem {
  /** Its place there; only {@link InFlight} writes it. */
  place: number;
}

/**
 * The items in progress, which come and go with each delivery. A `Set` or `Map` would keep items that ended: V8 links each
 * outgrown table of theirs to the next, and an old table keeps its entries, and all that they refer to, alive until the next major
 * collection.
 */
export class InFlight<T extends InFlightItem> implements Iterable<T> {
  readonly #items: T[] = [];
  readonly #whenEmpty: (() => void)[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.place = this.#items.push(item) - 1;
  }

  /** Returns whether it was in here. */
  delete(item: T): boolean {
    const { place } = item;
    if (this.#items[place] !== item) return false;
    const last = this.#items.pop() as T;
    if (last !== item) this.#items[place] = last;
    last.place = place;
    if (this.#items.length === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    return true;
  }

  /** Resolves once it is empty. */
  async emptied(): Promise<void> {
    if (this.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  /** All as they are now, in no order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.slice()[Symbol.iterator]();
  }
}
