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
  const waiting = new Heap<() => boolean>();

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
      return new Promise((resolve) => {
        let waits = true;
        const end = (acquired: boolean): boolean => {
          if (!waits) return false;
          waits = false;
          undo();
          resolve(acquired);
          return true;
        };
        const next = (): boolean => end(true);
        // A waiter with a high rank may wait long: an aborted one must not stay in memory.
        const undo = onAbort(signal, () => {
          waiting.remove(next);
          end(false);
        });
        waiting.push(rank, next);
      });
    },
    release() {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (next()) return;
      }
      free++;
    },
  };
}
