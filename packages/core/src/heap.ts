/** A binary heap: `pop` gives the element with the smallest rank first. */
export class Heap<T> {
  readonly #items: Item<T>[] = [];
  #order = 0;

  get size(): number {
    return this.#items.length;
  }

  /** The smallest rank, or undefined when empty. */
  get rank(): number | undefined {
    return this.#items[0]?.rank;
  }

  /** Elements of equal rank come out in the order they went in. */
  push(rank: number, value: T): void {
    this.#add({ rank, order: this.#order++, value });
  }

  /** Takes one out, wherever it is; false when it is not in here. */
  remove(value: T): boolean {
    const items = this.#items.splice(0);
    for (const item of items) if (item.value !== value) this.#add(item);
    return this.#items.length < items.length;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first?.value;
    items[0] = last;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= items.length) break;
      const right = left + 1;
      const child = right < items.length && this.#before(right, left) ? right : left;
      if (this.#before(at, child)) break;
      this.#swap(at, child);
      at = child;
    }
    return first.value;
  }

  #add(item: Item<T>): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#before(parent, at)) break;
      this.#swap(parent, at);
      at = parent;
    }
  }

  #before(a: number, b: number): boolean {
    const [left, right] = [this.#items[a], this.#items[b]] as [Item<T>, Item<T>];
    return left.rank < right.rank || (left.rank === right.rank && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b], items[a]] as [Item<T>, Item<T>];
  }
}

interface Item<T> {
  readonly rank: number;
  readonly order: number;
  readonly value: T;
}
