import type { Outage, WhyNoVerdict } from "../client/authorizer.ts";
import { type Job, type Outcome, park, retryIn, signatureLifetimeMs } from "../inbox/delivery.ts";
import { type RetryState, retryStateOf } from "../inbox/transitions.ts";
import { jitter } from "../lib/time/clock.ts";

/** Why there is no verdict; `not asked`: the circuit breaker was open. */
export type Unjudged = WhyNoVerdict | "not asked";

/** A call without a verdict, or one that was not made, and the service as far as this process knows it. */
export interface CallInVain {
  readonly why: Unjudged;
  /** The error of the call, or the reason for not making one. */
  readonly error: string;
  /** The wait the service asked for, in milliseconds; 0 when it asked for none. */
  readonly retryAfterMs: number;
  /** Lived time, and since when this process has seen it pass. */
  readonly now: number;
  readonly knownSince: number;
  /** Why the circuit breaker is open; null while it is closed. */
  readonly open: Outage | null;
  /** Milliseconds until it permits the next call. */
  readonly openMs: number;
  /** When the call began that last got a verdict; `-Infinity` when none did. */
  readonly judgedAt: number;
  /** When a process on the inbox last got a verdict, as far as this one has looked; `-Infinity` when none did. */
  readonly judgedAnywhereAt: number;
  /** Whether many signatures got a 400, 404 or 422 since. */
  readonly isOdd: boolean;
}

const giveUpMs = 3_600_000;
/** Calls for a released delivery, which is older than an hour: as many as fit into one. */
const releasedAttempts = 12;
/** Answers that concern one signature alone before it is held. */
const ownFaultsMax = 3;
/** Milliseconds after a verdict during which the service counts as working. */
const recentMs = 60_000;
const uncountedPauseMaxMs = 10_000;
/** The age in milliseconds up to which an outage was there from the beginning. */
const promptMs = 60_000;

/**
 * Decides whether a delivery without a verdict is asked about again, or held. The first case that fits:
 * 1. Three answers concerned this signature alone, and the service judges others: held.
 * 2. The key is refused, and no process had a verdict since this one came: asked again, at any age.
 * 3. It is an hour old, or released and asked about twelve times: held.
 * 4. Asked again: after 1 s doubling to 10 s while its signature may be valid, then after up to 5 minutes; not before the circuit
 *    breaker permits it.
 */
export function withoutVerdict(job: Job, call: CallInVain): Outcome {
  const { error } = call;
  const hold = (why: string): Outcome =>
    park("held", "not_verified", `${why}. Last: ${error}`, error);
  const state = stateAfter(job, call);
  if (isItsOwnFault(job, call, state))
    return hold("The service judges other signatures, but not this one");
  const paused = isPaused(job, call);
  if (!paused && isGivenUp(job, call)) return hold("The service gave no verdict for an hour");
  // A pause is no turn: a deprioritized delivery keeps its place. Expired ones wait for young ones.
  const isLate = ageOf(job, call) >= signatureLifetimeMs;
  const turnAt = call.why === "not asked" ? job.arrivedAt : call.now;
  const lastTurnAt = isLate ? turnAt + giveUpMs : turnAt;
  return retryIn(delayMs(job, call, paused), error, {
    countsAsAttempt: countsAsAttempt(job, call),
    retryState: JSON.stringify(state),
    ...(givesWay(job, call) && { lastTurnAt }),
  });
}

/** Whether the key is to blame for a refusal: until another signature is judged, it is. */
export function isKeySuspect(job: Job, call: CallInVain): boolean {
  const { why, open, judgedAt } = call;
  if (why !== "unauthorized") return false;
  const isFirst = judgedAt === Number.NEGATIVE_INFINITY && stateAfter(job, call).ownFaults === 1;
  return open === "unauthorized" || isFirst;
}

function isItsOwnFault(job: Job, call: CallInVain, { ownFaults = 0 }: RetryState): boolean {
  const { why, judgedAt, isOdd } = call;
  if (why === "not asked" || ownFaults < ownFaultsMax) return false;
  if (isJudgedSince(retryStateOf(job), judgedAt)) return true;
  return why !== "unauthorized" && isWorking(call) && !isOdd;
}

/** Whether verification pauses for the key, and no process had a verdict since this one came: it had no chance yet. */
function isPaused(job: Job, call: CallInVain): boolean {
  const isKey = call.open === "unauthorized" || isKeySuspect(job, call);
  return isKey && call.judgedAnywhereAt < job.arrivedAt;
}

function isGivenUp(job: Job, call: CallInVain): boolean {
  return job.released ? job.attempts + 1 >= releasedAttempts : ageOf(job, call) >= giveUpMs;
}

function delayMs(job: Job, call: CallInVain, paused: boolean): number {
  const { why, retryAfterMs, open, openMs } = call;
  const age = ageOf(job, call);
  const isAsked = why !== "not asked" || age >= signatureLifetimeMs;
  const ownMs = isAsked ? backoffMs(job.attempts + 1, age, retryAfterMs) : 0;
  // Such refusals and pauses are not counted until they concern this signature: use the age instead.
  const isForKey = why === "unauthorized" || (why === "not asked" && open === "unauthorized");
  const uncountedMs = isForKey ? Math.min(age, uncountedPauseMaxMs) : 0;
  const delay = Math.max(ownMs, uncountedMs, openMs);
  return job.released || paused ? delay : Math.min(delay, giveUpMs - age);
}

/**
 * Milliseconds until the next call, after `attempts` calls for a delivery that is `age` milliseconds old: 1 s doubling to 10 s while
 * its signature may be valid, then to 5 minutes.
 */
function backoffMs(attempts: number, age: number, retryAfterMs: number): number {
  const young = age < signatureLifetimeMs;
  const delay = young
    ? Math.min(1_000 * 2 ** (attempts - 1), 10_000)
    : Math.min(Math.max(age - signatureLifetimeMs, 10_000), 300_000);
  return Math.max(jitter(delay), Math.min(retryAfterMs, young ? 60_000 : 300_000));
}

function countsAsAttempt(job: Job, { why, judgedAt }: CallInVain): boolean {
  if (why === "not asked") return job.released;
  return why !== "unauthorized" || isJudgedSince(retryStateOf(job), judgedAt);
}

/** Whether to deprioritize: junk must not delay genuine deliveries, or use up every probe. */
function givesWay(job: Job, call: CallInVain): boolean {
  const { why, open } = call;
  if (ageOf(job, call) >= signatureLifetimeMs) return true;
  if (why === "not asked") return false;
  const isDoubtful = why === "bad_request" || why === "unauthorized" || isWorking(call);
  return isDoubtful || job.attempts > 0 || open !== null;
}

function isWorking({ now, judgedAt }: CallInVain): boolean {
  return now - judgedAt < recentMs;
}

/** How long it is known to have waited, in milliseconds. */
function ageOf({ arrivedAt }: Job, { now, knownSince }: CallInVain): number {
  return now - Math.max(arrivedAt, knownSince);
}

/** The state after a call without a verdict, or without a call. */
function stateAfter(job: Job, { why, now, open, judgedAt }: CallInVain): RetryState {
  const before = retryStateOf(job);
  const isUnanswered =
    why === "unavailable" || why === "unknown" || (why === "not asked" && open === "unavailable");
  const isPrompt = now - job.arrivedAt < promptMs;
  // A refusal counts against this signature if it is the first, or if another signature was judged since.
  const isOwn = before.refusedAt === undefined || isJudgedSince(before, judgedAt);
  const isOwnFault = why === "bad_request" || (why === "unauthorized" && isOwn);
  return {
    ...before,
    wasUnanswered: before.wasUnanswered === true || (isUnanswered && isPrompt),
    ownFaults: (before.ownFaults ?? 0) + (isOwnFault ? 1 : 0),
    ...((why === "unauthorized" || why === "bad_request") && { refusedAt: now }),
  };
}

/** Whether another signature was asked about, and judged, since this one was last refused: then the key is not to blame. */
function isJudgedSince({ refusedAt }: RetryState, judgedAt: number): boolean {
  return refusedAt !== undefined && judgedAt > refusedAt;
}

/** Why a signature was asked about too late, as a sentence; `refusedAt` is when the key was last refused. */
export function whyExpired(
  job: Pick<Job, "retryState" | "arrivedAt" | "attempts">,
  refusedAt: number,
): string {
  if (retryStateOf(job).wasUnanswered === true) {
    return "The signature expired while the service was unavailable.";
  }
  if (refusedAt > job.arrivedAt) {
    return "The signature expired while verification was paused, because the service refused the API key: check apiKey.";
  }
  return job.attempts > 0
    ? "The signature expired while authorize calls failed."
    : "The signature was older than 5 minutes when authorize was asked.";
}
