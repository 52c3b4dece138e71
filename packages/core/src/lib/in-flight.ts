/**
 * What runs, each for a while. A `Set` or `Map` would keep what has ended: V8 links every table that one of them has outgrown to
 * the next, and takes for alive, until the next major collection, what hangs on a table that has grown old.
 */
export class InFlight<T> {
  /** Each at its place; undefined where one has ended. */
  readonly items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** Takes one in; returns its place, which belongs to it until {@link delete} is called with it, once. */
  add(item: T): number {
    const place = this.#free.pop() ?? this.items.length;
    this.items[place] = item;
    return place;
  }

  delete(place: number): void {
    this.items[place] = undefined;
    this.#free.push(place);
  }
}
