import { type Abortable, onAbort, type StopSignal } from "./abort.ts";
import { Heap } from "./heap.ts";

/** A counting semaphore that serves waiters by rank. */
export interface Semaphore {
  /** Acquires a permit, at once while one is free; else the waiter with the smallest rank is next. False: `signal` was aborted. */
  acquire(rank: number, signal: StopSignal): boolean | Promise<boolean>;
  /** The number of free permits, less the waiters. */
  readonly free: number;
  /** Releases a permit to the next waiter. */
  release(): void;
}

/** Makes a {@link Semaphore} with `count` free permits. */
export function createSemaphore(count: number): Semaphore {
  let free = count;
  const waiting = new Heap<Waiter>();

  return {
    get free() {
      return free - waiting.size;
    },
    acquire(rank, signal) {
      if (signal.aborted) return false;
      if (free > 0) {
        free--;
        return true;
      }
      return new Promise((resolve) => waiting.push(rank, new Waiter(resolve, signal, waiting)));
    },
    release() {
      const next = waiting.pop();
      if (next === undefined) free++;
      else next.end(true);
    },
  };
}

class Waiter implements Abortable {
  place = -1;
  readonly #resolve: (acquired: boolean) => void;
  readonly #others: Pick<Heap<Waiter>, "remove">;
  readonly #siblings: ReturnType<typeof onAbort>;

  constructor(
    resolve: (acquired: boolean) => void,
    signal: StopSignal,
    others: Pick<Heap<Waiter>, "remove">,
  ) {
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
