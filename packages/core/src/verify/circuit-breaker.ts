import type { Outage } from "../client/authorizer.ts";
import type { Lookout } from "../health/health.ts";
import { type Clock, jitter } from "../lib/time/clock.ts";

/** Permission for one call; its holder reports the answer to the breaker. */
export interface Permit {
  readonly isProbe: boolean;
  // The state at the start of the call: its answer says nothing about later refusals and silences.
  readonly amidRefusals: boolean;
  readonly amidSilence: boolean;
}

/** Unanswered calls in a row after which the service counts as unavailable. */
const silencesInARow = 5;
/** Refusals of different signatures in a row after which the key is to blame; one is enough before the first verdict. */
const refusalsInARow = 2;
/** Signatures with an answer that concerns one alone, without a verdict in between, after which it concerns none of them. */
const oddOnesMax = 5;
/** Milliseconds that the breaker stays closed after a verdict amid refusals or silence: these concern single signatures. */
const trustMs = { unauthorized: 300_000, unavailable: 60_000 };
// An unavailable service is probed as often as a single delivery would be retried, and always within a signature's lifetime.
const pauseMaxMs = { unauthorized: 30_000, unavailable: 10_000 };
const retryAfterMaxMs = { unauthorized: 30_000, unavailable: 60_000 };
/** Signatures that are probed in a pause if the key has worked before. */
const probesOfWorkingKey = 4;
/** Milliseconds to wait for a probe's answer before the next probe. */
const probeAnswerMs = 1_000;
const never = Number.NEGATIVE_INFINITY;

/**
 * Stops authorize calls while the service refuses the API key or is unavailable.
 *
 * States: closed (every call is permitted), open (no call), half-open (probes after each pause), stopped (for good). Pauses grow
 * and one probe follows each, but for refusals of a key that has worked: the refused signatures may be a stranger's and hide
 * genuine ones, so that several are probed each second.
 */
export class CircuitBreaker {
  /** When the call began that last got a verdict; `-Infinity` when none did. */
  judgedAt: number = never;
  readonly #clock: Clock;
  readonly #lookout: Pick<Lookout, "everValid">;
  #open: Outage | null = null;
  #stopped = false;
  #pauses = 0;
  #probeAt = 0;
  #probedAt = never;
  /** The number of probes that may follow the first one in this pause. */
  #probesLeft = 0;
  readonly #refused = new Set<string>();
  readonly #odd = new Set<string>();
  #silences = 0;
  readonly #trustedUntil = { unauthorized: never, unavailable: never };

  /** `lookout` tells whether a signature was valid here before, in another process or an earlier one. */
  constructor(clock: Clock, lookout: Pick<Lookout, "everValid">) {
    this.#clock = clock;
    this.#lookout = lookout;
  }

  /** Why no call is permitted; null while the breaker is closed, or stopped. */
  get open(): Outage | null {
    return this.#stopped ? null : this.#open;
  }

  /** Milliseconds until the next permit; 0 while closed. */
  get openMs(): number {
    if (this.open === null) return 0;
    const now = this.#clock.now();
    const ms = Math.max(0, this.#probeAt - now);
    const sinceProbe = now - this.#probedAt;
    return sinceProbe < probeAnswerMs ? Math.min(ms, probeAnswerMs - sinceProbe) : ms;
  }

  /** Whether the service has answered a 400, 404 or 422 to so many signatures since its last verdict that none of them is to blame. */
  get isOdd(): boolean {
    return this.#odd.size >= oddOnesMax;
  }

  /** A permit for one call; null while open: callers ask again after {@link openMs}. */
  permit(): Permit | null {
    if (this.#stopped) return null;
    if (this.#open === null) return this.#newPermit(false);
    if (this.#clock.now() >= this.#probeAt) {
      this.#probedAt = this.#clock.now();
      this.#pause(this.#open, 0);
      this.#probesLeft = this.#mayHideGenuine(this.#open) ? probesOfWorkingKey : 1;
    }
    if (this.#probesLeft === 0) return null;
    this.#probesLeft--;
    return this.#newPermit(true);
  }

  /** Whether the breaker has opened since: ask for another permit. */
  isStale({ isProbe }: Permit): boolean {
    return !isProbe && this.#open !== null;
  }

  /** Reports a verdict on a call that began at `askedAt`: closes the breaker. */
  judged(permit: Permit, askedAt: number): void {
    this.answered(permit);
    if (permit.amidRefusals && this.#refused.size > 0) this.#trust("unauthorized");
    this.judgedAt = Math.max(this.judgedAt, askedAt);
    // Each clear() makes a new table.
    if (this.#refused.size > 0) this.#refused.clear();
    if (this.#odd.size > 0) this.#odd.clear();
    this.#close();
  }

  /** Reports an answer, with a verdict or without: the service is available. An ambiguous one, such as a 500, is not reported. */
  answered({ amidSilence }: Permit): void {
    if (amidSilence && this.#silences > 0) this.#trust("unavailable");
    this.#silences = 0;
    if (this.#open === "unavailable") this.#close();
  }

  /** Reports a 400, 404 or 422. */
  odd(permit: Permit, signature: string): void {
    this.answered(permit);
    if (!this.isOdd) this.#odd.add(signature);
  }

  /** Reports a 401 or 403: opens the breaker once different signatures were refused without a verdict in between. */
  unauthorized(permit: Permit, signature: string, retryAfterMs: number): void {
    this.answered(permit);
    const enough = this.judgedAt === never ? 1 : refusalsInARow;
    // More are not needed.
    if (this.#refused.size < enough) this.#refused.add(signature);
    this.#failed("unauthorized", permit, this.#refused.size >= enough, retryAfterMs);
  }

  /** Reports a missing answer: opens the breaker after several in a row. */
  unavailable(permit: Permit, retryAfterMs: number): void {
    this.#failed("unavailable", permit, ++this.#silences >= silencesInARow, retryAfterMs);
  }

  /** Ends all permits. */
  stop(): void {
    this.#stopped = true;
  }

  #newPermit(isProbe: boolean): Permit {
    return { isProbe, amidRefusals: this.#refused.size > 0, amidSilence: this.#silences > 0 };
  }

  #failed(why: Outage, { isProbe }: Permit, isEnough: boolean, retryAfterMs: number): void {
    if (this.#open === null) {
      if (isEnough && this.#clock.now() >= this.#trustedUntil[why]) this.#pause(why, retryAfterMs);
    } else if (isProbe) {
      this.#open = why;
      const ms = Math.min(retryAfterMs, retryAfterMaxMs[why]);
      if (ms > this.#probeAt - this.#clock.now()) this.#probeIn(ms);
    }
  }

  #mayHideGenuine(why: Outage): boolean {
    return why === "unauthorized" && (this.judgedAt !== never || this.#lookout.everValid);
  }

  #trust(why: Outage): void {
    this.#trustedUntil[why] = this.#clock.now() + trustMs[why];
  }

  #close(): void {
    if (this.#open === null) return;
    this.#open = null;
    this.#pauses = 0;
  }

  #pause(why: Outage, retryAfterMs: number): void {
    if (this.#stopped) return;
    this.#open = why;
    this.#probesLeft = 0;
    const doublings = this.#mayHideGenuine(why) ? 0 : this.#pauses++;
    const ms = jitter(Math.min(1_000 * 2 ** doublings, pauseMaxMs[why]));
    this.#probeIn(Math.max(ms, Math.min(retryAfterMs, retryAfterMaxMs[why])));
  }

  #probeIn(ms: number): void {
    this.#probeAt = this.#clock.now() + ms;
  }
}
