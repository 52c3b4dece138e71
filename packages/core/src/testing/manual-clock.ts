import type { Clock } from "../lib/clock.ts";

/** A {@link Clock} that stands still until it is advanced. */
export interface ManualClock extends Clock {
  /** Lets time pass, and runs the timers that come due, in order. */
  advance(ms: number): void;
  /** How many timers are set. */
  readonly pending: number;
}

/** Makes a clock that shows `start`. */
export function manualClock(start: number = Date.now()): ManualClock {
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
