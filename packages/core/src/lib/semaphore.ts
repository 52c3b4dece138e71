import { onAbort, type StopSignal } from "./abort.ts";
import { Heap } from "./heap.ts";

/** A number of places, for what may run only so many at once. */
export interface Places {
  /** Takes one, at once while there is one; else when one is left, by rank, the smallest first. False: `signal` was aborted. */
  take(rank: number, signal: StopSignal): boolean | Promise<boolean>;
  /** Leaves one, to whoever waits. */
  leave(): void;
}

/** Makes `count` free ones. */
export function createPlaces(count: number): Places {
  let free = count;
  const waiting = new Heap<() => boolean>();

  return {
    take(rank, signal) {
      if (signal.aborted) return false;
      if (free > 0) {
        free--;
        return true;
      }
      return new Promise((resolve) => {
        let waits = true;
        const end = (taken: boolean): boolean => {
          if (!waits) return false;
          waits = false;
          undo();
          resolve(taken);
          return true;
        };
        const next = (): boolean => end(true);
        // Those with the highest rank may wait long: they are not kept for it.
        const undo = onAbort(signal, () => {
          waiting.remove(next);
          end(false);
        });
        waiting.push(rank, next);
      });
    },
    leave() {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (next()) return;
      }
      free++;
    },
  };
}
