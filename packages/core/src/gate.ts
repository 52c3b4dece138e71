import { type Clock, quietTimeout } from "./clock.ts";

/** Lets work through until it is closed for a while; then one probe goes first. */
export interface Gate {
  /** Resolves when work may go on; false when `signal` aborted first. */
  pass(signal: AbortSignal): Promise<boolean>;
  /** Closes it: for a second, twice as long each time the probe fails too, up to 30 seconds. */
  close(retryAfterMs: number): void;
  /** Opens it for everyone. */
  open(): void;
  /** For good: nothing passes any more. */
  stop(): void;
}

/** Makes an open {@link Gate}. */
export function createGate(clock: Clock): Gate {
  let until = 0;
  let failures = 0;
  let probing = false;
  let stopped = false;
  let wake: (() => void)[] = [];
  const change = (): void => {
    const woken = wake;
    wake = [];
    for (const call of woken) call();
  };
  const changed = (signal: AbortSignal, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = quietTimeout(clock, () => done(), ms);
      const done = (): void => {
        clock.clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      wake.push(done);
      signal.addEventListener("abort", done, { once: true });
    });

  return {
    async pass(signal) {
      while (failures > 0) {
        if (signal.aborted || stopped) return false;
        const wait = until - clock.now();
        if (wait <= 0 && !probing) {
          probing = true;
          return true;
        }
        await changed(signal, wait > 0 ? wait : 30_000);
      }
      return !signal.aborted && !stopped;
    },
    close(retryAfterMs) {
      if (failures > 0 && !probing) return;
      failures++;
      probing = false;
      const pause = Math.min(1_000 * 2 ** (failures - 1), 30_000);
      until = clock.now() + Math.max(pause, Math.min(retryAfterMs, 300_000));
      change();
    },
    open() {
      failures = 0;
      probing = false;
      change();
    },
    stop() {
      stopped = true;
      change();
    },
  };
}
