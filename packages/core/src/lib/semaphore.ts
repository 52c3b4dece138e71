import { type Abortable, onAbort, type StopSignal } from "./abort.ts";
import { Heap } from "./heap.ts";

/** A counting semaphore that serves waiters by rank. */
export class Semaphore {
  readonly #waiting = new Heap<Waiter>();
  readonly #count: number;
  #permits: number;

  constructor(count: number) {
    this.#count = count;
    this.#permits = count;
  }

  get taken(): number {
    return this.#count - this.#permits;
  }

  /** The number of free permits, less the waiters. */
  get free(): number {
    return this.#permits - this.#waiting.size;
  }

  /** Acquires a permit, at once while one is free; else the waiter with the smallest rank is next. False: `signal` was aborted. */
  acquire(rank: number, signal: StopSignal): boolean | Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#permits > 0) {
      this.#permits--;
      return true;
    }
    const waiting = this.#waiting;
    return new Promise((resolve) => waiting.push(rank, new Waiter(resolve, signal, waiting)));
  }

  release(): void {
    const next = this.#waiting.pop();
    if (next === undefined) this.#permits++;
    else next.end(true);
  }
}

class Waiter implements Abortable {
  place = -1;
  readonly #resolve: (acquired: boolean) => void;
  readonly #others: Heap<Waiter>;
  readonly #siblings: ReturnType<typeof onAbort>;

  constructor(resolve: (acquired: boolean) => void, signal: StopSignal, others: Heap<Waiter>) {
    this.#resolve = resolve;
    this.#others = others;
    this.#siblings = onAbort(signal, this);
  }

  /** A waiter with a high rank may wait long: an aborted one must not stay in memory. */
  abort(): void {
    if (this.#others.remove(this)) this.end(false);
  }

  end(acquired: boolean): void {
    this.#siblings.delete(this);
    this.#resolve(acquired);
  }
}
