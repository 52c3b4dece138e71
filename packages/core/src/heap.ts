/** A binary heap: `pop` gives the element with the smallest rank first. */
export class Heap<T> {
  // The elements, each one's rank, and its place in the order of arrival: in arrays of their own, because an object for each would
  // be one more for the collector to copy.
  readonly #values: T[] = [];
  readonly #ranks: number[] = [];
  readonly #orders: number[] = [];
  #pushed = 0;

  get size(): number {
    return this.#values.length;
  }

  /** The smallest rank, or undefined when empty. */
  get rank(): number | undefined {
    return this.#ranks[0];
  }

  /** Elements of equal rank come out in the order they went in. */
  push(rank: number, value: T): void {
    this.#add(rank, this.#pushed++, value);
  }

  /** Takes one out, wherever it is; false when it is not in here. */
  remove(value: T): boolean {
    const values = this.#values.splice(0);
    const ranks = this.#ranks.splice(0);
    const orders = this.#orders.splice(0);
    for (const [at, one] of values.entries()) {
      if (one !== value) this.#add(ranks[at] ?? 0, orders[at] ?? 0, one);
    }
    return this.#values.length < values.length;
  }

  pop(): T | undefined {
    const last = this.size - 1;
    if (last > 0) this.#swap(0, last);
    const value = this.#values.pop();
    this.#ranks.pop();
    this.#orders.pop();
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= last) return value;
      const right = left + 1;
      const child = right < last && this.#before(right, left) ? right : left;
      if (this.#before(at, child)) return value;
      this.#swap(at, child);
      at = child;
    }
  }

  #add(rank: number, order: number, value: T): void {
    let at = this.#values.push(value) - 1;
    this.#ranks.push(rank);
    this.#orders.push(order);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#before(parent, at)) return;
      this.#swap(parent, at);
      at = parent;
    }
  }

  #before(a: number, b: number): boolean {
    const [rank, other] = [this.#ranks[a] ?? 0, this.#ranks[b] ?? 0];
    return rank === other ? (this.#orders[a] ?? 0) < (this.#orders[b] ?? 0) : rank < other;
  }

  #swap(a: number, b: number): void {
    swap(this.#values, a, b);
    swap(this.#ranks, a, b);
    swap(this.#orders, a, b);
  }
}

function swap<T>(of: T[], a: number, b: number): void {
  const value = of[a] as T;
  of[a] = of[b] as T;
  of[b] = value;
}
