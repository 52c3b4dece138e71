import { type Clock, quietTimeout } from "../lib/clock.ts";
import { jitter } from "./backoff.ts";

/** Why a gate is closed: the service refuses our key, or does not answer. */
export type Closed = "refused" | "silent";

/** Lets authorize calls through until it is closed for a while; then one probe after each pause. */
export interface Gate {
  /** Leave to ask, or null while it is closed: nobody waits here, each comes again after {@link Gate.closedMs}. */
  pass(): Pass | null;
  /** Why it is closed; null while it is open. */
  readonly closed: Closed | null;
  /** Milliseconds until it is worth coming again; 0 while it is open. */
  readonly closedMs: number;
  /** For good: nothing passes any more. */
  stop(): void;
}

/** Leave to ask; its holder says how it went. What says nothing of the service, such as a 500, is not told. */
export interface Pass {
  /** Whether the gate was closed since: there is a new one to be had. */
  readonly stale: boolean;
  /** There was a verdict: opens the gate for everyone. */
  judged(): void;
  /** There was an answer that is no verdict: the service is not silent. */
  answered(): void;
  /** 401 or 403: closes the gate once different signatures were refused and none was judged between. */
  refused(signature: string, retryAfterMs: number): void;
  /** There was no answer: closes the gate once there was none several times in a row. */
  silent(retryAfterMs: number): void;
}

/** How many calls in a row go unanswered before the service counts as silent. */
const silencesInARow = 5;
/** How many different signatures are refused in a row before it is the key; the first one tells, where a key never worked. */
const refusalsInARow = 2;
/** A verdict in the midst of refusals, or of silence, says that these concern single signatures: for so long the gate stays open. */
const trustMs = { refused: 300_000, silent: 60_000 };
// A silent service is probed as often as a single delivery would be, and never asked to wait beyond a signature's life.
const longestMs = { refused: 30_000, silent: 10_000 };
const longestAskedMs = { refused: 300_000, silent: 60_000 };
/** Pauses that stay short where a key has worked before: many signatures that are refused alone may hide one that is judged. */
const shortPauses = 16;
/** How long a probe's answer is waited for before the next one. */
const answerMs = 1_000;

/** Makes an open {@link Gate}. */
export function createGate(clock: Clock): Gate {
  let closed: Closed | null = null;
  let judgedOnce = false;
  let pauses = 0;
  let pauseMs = 0;
  let probeAt = 0;
  let probedAt = Number.NEGATIVE_INFINITY;
  let stopped = false;
  let timer: unknown;
  const refusals = new Set<string>();
  let silences = 0;
  const trustedUntil = { refused: Number.NEGATIVE_INFINITY, silent: Number.NEGATIVE_INFINITY };

  function open(): void {
    clock.clearTimeout(timer);
    closed = null;
    pauses = 0;
  }

  function close(why: Closed, askedMs: number): void {
    if (stopped) return;
    closed = why;
    pause(askedMs);
  }

  function pause(askedMs: number): void {
    const why = closed ?? "silent";
    const short = why === "refused" && judgedOnce ? shortPauses : 0;
    const ms = jitter(Math.min(1_000 * 2 ** Math.max(0, pauses++ - short), longestMs[why]));
    waitFor(Math.max(ms, Math.min(askedMs, longestAskedMs[why])));
  }

  function waitFor(ms: number): void {
    pauseMs = ms;
    probeAt = clock.now() + ms;
    clock.clearTimeout(timer);
    // By the clock and by the timer: of a clock that is set back only the timer knows.
    timer = quietTimeout(
      clock,
      () => {
        probeAt = Number.NEGATIVE_INFINITY;
      },
      ms,
    );
  }

  function failed(why: Closed, isProbe: boolean, isEnough: boolean, askedMs: number): void {
    if (closed === null) {
      if (isEnough && clock.now() >= trustedUntil[why]) close(why, askedMs);
    } else if (isProbe) {
      closed = why;
      const ms = Math.min(askedMs, longestAskedMs[why]);
      if (ms > probeAt - clock.now()) waitFor(ms);
    }
  }

  function passOf(isProbe: boolean): Pass {
    // What was known when it was given: an answer that was under way is none in the midst of what came meanwhile.
    const amidst = { refused: refusals.size > 0, silent: silences > 0 };
    const answered = (): void => {
      if (amidst.silent && silences > 0) trustedUntil.silent = clock.now() + trustMs.silent;
      silences = 0;
      if (closed === "silent") open();
    };
    return {
      get stale() {
        return !isProbe && closed !== null;
      },
      answered,
      judged() {
        answered();
        if (amidst.refused && refusals.size > 0)
          trustedUntil.refused = clock.now() + trustMs.refused;
        judgedOnce = true;
        refusals.clear();
        open();
      },
      refused(signature, askedMs) {
        answered();
        const enough = judgedOnce ? refusalsInARow : 1;
        // More would tell no more.
        if (refusals.size < enough) refusals.add(signature);
        failed("refused", isProbe, refusals.size >= enough, askedMs);
      },
      silent(askedMs) {
        failed("silent", isProbe, ++silences >= silencesInARow, askedMs);
      },
    };
  }

  return {
    pass() {
      if (stopped) return null;
      if (closed === null) return passOf(false);
      if (clock.now() < probeAt) return null;
      probedAt = clock.now();
      pause(0);
      return passOf(true);
    },
    get closed() {
      return stopped ? null : closed;
    },
    get closedMs() {
      if (closed === null || stopped) return 0;
      const ms = Math.max(0, Math.min(probeAt - clock.now(), pauseMs));
      const sinceProbe = clock.now() - probedAt;
      return sinceProbe >= 0 && sinceProbe < answerMs ? Math.min(ms, answerMs - sinceProbe) : ms;
    },
    stop() {
      stopped = true;
      clock.clearTimeout(timer);
    },
  };
}
