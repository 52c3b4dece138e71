import type { InboxClock } from "@reporthook/core";
import { newId, timeOf } from "@reporthook/core/store";

/** The clock of a receiver and its inbox; it stands still until it is advanced. */
export interface ManualClock extends InboxClock {
  /** The time that has run, as `now()`. */
  running(): number;
  /** The time that people see, as `now()`. */
  wallNow(): number;
  /** Lets time pass, and runs the timers that come due, in order. */
  advance(ms: number): void;
  /** How many timers are set. */
  readonly pending: number;
}

/** Now, or up to a second ahead: ids of one process go back by more than that, or not at all. */
function afterIds(): number {
  return timeOf(newId(Date.now()));
}

/** Makes a clock that shows `start`. */
export function manualClock(start: number = afterIds()): ManualClock {
  const timers = new Map<number, { readonly at: number; readonly callback: () => void }>();
  let now = start;
  let last = 0;

  function next(until: number): number | undefined {
    let found: number | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const [timer, { at }] of timers) {
      if (at > until || at >= earliest) continue;
      found = timer;
      earliest = at;
    }
    return found;
  }

  return {
    now: () => now,
    running: () => now,
    wallNow: () => now,
    wallOffset: 0,
    knownSince: 0,
    setTimeout(callback, ms) {
      timers.set(++last, { at: now + Math.max(0, ms), callback });
      return last;
    },
    clearTimeout(timer) {
      timers.delete(timer as number);
    },
    advance(ms) {
      const end = now + ms;
      for (let timer = next(end); timer !== undefined; timer = next(end)) {
        const due = timers.get(timer);
        timers.delete(timer);
        now = Math.max(now, due?.at ?? now);
        due?.callback();
      }
      now = end;
    },
    get pending() {
      return timers.size;
    },
  };
}
