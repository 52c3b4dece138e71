/** A binary heap: `pop` gives the element with the smallest rank first. */
export class Heap<T> {
  // The elements, their ranks, and their order of arrival: in separate arrays, because an object for each element would be one
  // more for the collector to copy.
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
    this.#ranks.push(rank);
    this.#orders.push(this.#pushed++);
    this.#up(this.#values.push(value) - 1);
  }

  /** Takes one out, wherever it is; false when it is not in here. */
  remove(value: T): boolean {
    const at = this.#values.indexOf(value);
    if (at !== -1) this.#takeOut(at);
    return at !== -1;
  }

  /** Takes all of these out in one pass; returns those that were in here. */
  removeAll(values: ReadonlySet<T>): T[] {
    const all = this.#values.splice(0);
    const [ranks, orders] = [this.#ranks.splice(0), this.#orders.splice(0)];
    return all.filter((value, at) => {
      if (values.has(value)) return true;
      this.#ranks.push(ranks[at] ?? 0);
      this.#orders.push(orders[at] ?? 0);
      this.#up(this.#values.push(value) - 1);
      return false;
    });
  }

  pop(): T | undefined {
    const first = this.#values[0];
    if (this.size > 0) this.#takeOut(0);
    return first;
  }

  #takeOut(at: number): void {
    this.#swap(at, this.size - 1);
    this.#values.pop();
    this.#ranks.pop();
    this.#orders.pop();
    if (at === this.size) return;
    this.#down(at);
    this.#up(at);
  }

  #up(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#before(parent, at)) return;
      this.#swap(parent, at);
      at = parent;
    }
  }

  #down(from: number): void {
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.size) return;
      const right = left + 1;
      const child = right < this.size && this.#before(right, left) ? right : left;
      if (this.#before(at, child)) return;
      this.#swap(at, child);
      at = child;
    }
  }

  #before(a: number, b: number): boolean {
    const [rank, other] = [this.#ranks[a] ?? 0, this.#ranks[b] ?? 0];
    return rank === other ? (this.#orders[a] ?? 0) < (this.#orders[b] ?? 0) : rank < other;
  }

  // Not one function for all: it would make the ranks an array of anything, in which each is an object.
  #swap(a: number, b: number): void {
    [this.#values[a], this.#values[b]] = [this.#values[b] as T, this.#values[a] as T];
    [this.#ranks[a], this.#ranks[b]] = [this.#ranks[b] as number, this.#ranks[a] as number];
    [this.#orders[a], this.#orders[b]] = [this.#orders[b] as number, this.#orders[a] as number];
  }
}
