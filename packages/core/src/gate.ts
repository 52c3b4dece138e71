import { onAbort } from "./abort.ts";
import { type Clock, quietTimeout } from "./clock.ts";

/** Lets work through until it is closed for a while; then one probe goes first. */
export interface Gate {
  /** Leave to go on, at once while it is open; null when it may not: `signal` aborted, or closed and not to be waited for. */
  pass(signal: AbortSignal, wait: boolean): Pass | null | Promise<Pass | null>;
  /** For good: nothing passes any more. */
  stop(): void;
}

/** Leave to go on; its holder says how it went. */
export interface Pass {
  /** Opens the gate for everyone. */
  open(): void;
  /** Closes it: for a second, twice as long each time the probe fails too, up to 30 seconds, or as long as asked. */
  close(retryAfterMs: number): void;
  /** Nothing was learned: a probe leaves the place to the next. */
  giveBack(): void;
}

const longestMs = 30_000;
const longestAskedMs = 300_000;

/** Makes an open {@link Gate}. */
export function createGate(clock: Clock): Gate {
  let failures = 0;
  let due = false;
  let stopped = false;
  let timer: unknown;
  const waiting = new Set<() => void>();
  const change = (): void => {
    for (const wake of waiting) wake();
  };
  const changed = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      let undo = (): void => {};
      const done = (): void => {
        waiting.delete(done);
        undo();
        resolve();
      };
      waiting.add(done);
      undo = onAbort(signal, done);
    });
  const probeIsDue = (): void => {
    due = true;
    change();
  };

  const passOf = (probe: boolean): Pass => ({
    open() {
      if (failures === 0) return;
      clock.clearTimeout(timer);
      failures = 0;
      change();
    },
    close(retryAfterMs) {
      if (stopped || (failures > 0 && !probe)) return;
      failures++;
      due = false;
      const ms = Math.min(1_000 * 2 ** (failures - 1), longestMs);
      clock.clearTimeout(timer);
      timer = quietTimeout(clock, probeIsDue, Math.max(ms, Math.min(retryAfterMs, longestAskedMs)));
    },
    giveBack() {
      if (probe && failures > 0) probeIsDue();
    },
  });

  const free = passOf(false);

  function pass(signal: AbortSignal, wait: boolean): Pass | null | Promise<Pass | null> {
    if (signal.aborted || stopped) return null;
    if (failures === 0) return free;
    if (due) {
      due = false;
      return passOf(true);
    }
    return wait ? changed(signal).then(() => pass(signal, wait)) : null;
  }

  return {
    pass,
    stop() {
      stopped = true;
      clock.clearTimeout(timer);
      change();
    },
  };
}
