import { onAbort, type StopSignal } from "./abort.ts";
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

class Waiter {
  readonly #resolve: (acquired: boolean) => void;
  readonly #undo: () => void;

  constructor(
    resolve: (acquired: boolean) => void,
    signal: StopSignal,
    waiting: Pick<Heap<Waiter>, "remove">,
  ) {
    this.#resolve = resolve;
    // A waiter with a high rank may wait long: an aborted one must not stay in memory.
    this.#undo = onAbort(signal, () => {
      if (waiting.remove(this)) this.end(false);
    });
  }

  end(acquired: boolean): void {
    this.#undo();
    this.#resolve(acquired);
  }
}
