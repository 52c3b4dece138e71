import { onAbort, type StopSignal } from "./abort.ts";
import { type Clock, quietTimeout } from "./clock.ts";
import { jitter } from "./schedule.ts";

/** Why a gate is closed: the service refuses our key, or does not answer. */
export type Closed = "refused" | "silent";

/** Lets authorize calls through until it is closed for a while; then one probe goes first. */
export interface Gate {
  /**
   * Leave to go on, at once while it is open; null when it may not: `signal` aborted, or closed. A caller that waits does so
   * while the key is refused, and while a probe is under way; while the service is silent it comes again by itself.
   */
  pass(signal: StopSignal, wait: boolean): Pass | null | Promise<Pass | null>;
  /** Milliseconds until the next probe while it is closed because of silence; null while it is not. */
  readonly silentMs: number | null;
  /** For good: nothing passes any more. */
  stop(): void;
}

/** Leave to go on; its holder says how it went. */
export interface Pass {
  /** Whether it was given before the gate closed: there is a new one to be had. */
  readonly stale: boolean;
  /** There was an answer: opens the gate for everyone. */
  open(): void;
  /** The key is refused: closes it, for a second, twice as long each time the probe fails too, or as long as asked. */
  refused(retryAfterMs: number): void;
  /** There was no answer: closes it likewise, once there was none several times in a row. */
  silent(retryAfterMs: number): void;
  /** There was an error that may concern this one signature: closes it only if this was a probe. */
  failed(retryAfterMs: number): void;
  /** Nothing was learned: a probe leaves the place to the next, after another pause if the service is silent. */
  giveBack(): void;
}

/** How many calls in a row are not answered before the service counts as silent. */
const silences = 5;
// A silent service is probed as often as a single delivery would be, and never asked to wait beyond a signature's life.
const longestMs = { refused: 30_000, silent: 10_000 };
const longestAskedMs = { refused: 300_000, silent: 60_000 };

// Longer than an authorize call may take: where a request can be ended at any moment, its probe never says how it went.
const longestProbeMs = 45_000;

/** Makes an open {@link Gate}. */
export function createGate(clock: Clock): Gate {
  let closed: Closed | null = null;
  let failures = 0;
  let inARow = 0;
  let probing = false;
  let probeAt = 0;
  let probedAt = 0;
  let pauseMs = 0;
  let stopped = false;
  let timer: unknown;
  const waiting = new Set<() => void>();
  const change = (): void => {
    for (const wake of waiting) wake();
  };
  const changed = (signal: StopSignal): Promise<void> =>
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

  // By the clock and by the timer: of a clock that is set back only the timer knows.
  const probeIsDue = (): void => {
    probeAt = Number.NEGATIVE_INFINITY;
    change();
  };

  function close(why: Closed, retryAfterMs: number): void {
    if (stopped) return;
    closed = why;
    failures++;
    probing = false;
    const ms = jitter(Math.min(1_000 * 2 ** (failures - 1), longestMs[why]));
    pauseMs = Math.max(ms, Math.min(retryAfterMs, longestAskedMs[why]));
    probeAt = clock.now() + pauseMs;
    clock.clearTimeout(timer);
    timer = quietTimeout(clock, probeIsDue, pauseMs);
    change();
  }

  const passOf = (probe: boolean): Pass => ({
    get stale() {
      return !probe && closed !== null;
    },
    open() {
      inARow = 0;
      if (closed === null) return;
      clock.clearTimeout(timer);
      closed = null;
      failures = 0;
      probing = false;
      change();
    },
    refused(retryAfterMs) {
      inARow = 0;
      if (probe || closed === null) close("refused", retryAfterMs);
    },
    silent(retryAfterMs) {
      inARow++;
      if (probe || (closed === null && inARow >= silences)) close("silent", retryAfterMs);
    },
    failed(retryAfterMs) {
      if (probe) close("silent", retryAfterMs);
    },
    giveBack() {
      if (!probe || closed === null) return;
      if (closed === "silent") return close("silent", 0);
      probing = false;
      probeIsDue();
    },
  });

  const free = passOf(false);

  function pass(signal: StopSignal, wait: boolean): Pass | null | Promise<Pass | null> {
    if (signal.aborted || stopped) return null;
    if (closed === null) return free;
    const lost = probing && clock.now() >= probedAt + longestProbeMs;
    if ((!probing || lost) && clock.now() >= probeAt) {
      probing = true;
      probedAt = clock.now();
      return passOf(true);
    }
    if (!wait || (closed === "silent" && !probing)) return null;
    return changed(signal).then(() => pass(signal, wait));
  }

  return {
    pass,
    get silentMs() {
      if (closed !== "silent" || stopped) return null;
      return Math.max(0, Math.min(probeAt - clock.now(), pauseMs));
    },
    stop() {
      stopped = true;
      clock.clearTimeout(timer);
      change();
    },
  };
}
