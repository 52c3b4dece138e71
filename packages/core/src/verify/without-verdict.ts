import { type Job, type Outcome, park, retryIn, signatureLifetimeMs } from "../inbox/delivery.ts";
import { jitter } from "../lib/time/clock.ts";
import {
  isJudgedSince,
  type RetryState,
  retryStateOf,
  type ServiceState,
  type Unjudged,
} from "./retry-state.ts";

/** A call without a verdict, or one that was not made. */
export interface CallInVain {
  readonly why: Unjudged;
  /** The error of the call, or the reason for not making one. */
  readonly error: string;
  /** The wait the service asked for, in milliseconds; 0 when it asked for none. */
  readonly retryAfterMs: number;
  /** The state to keep. */
  readonly state: RetryState;
  readonly service: ServiceState;
  /** Milliseconds until the circuit breaker permits the next call. */
  readonly openMs: number;
}

const giveUpMs = 3_600_000;
/** Calls for a released delivery, which is older than an hour: as many as fit into one. */
const releasedAttempts = 12;
/** Answers that concern one signature alone before it is held. */
const ownFaultsMax = 3;
/** Milliseconds after a verdict during which the service counts as working. */
const recentMs = 60_000;
const uncountedPauseMaxMs = 10_000;

/** Decides whether a delivery without a verdict is asked about again, or held. */
export function withoutVerdict(job: Job, call: CallInVain): Outcome {
  const { error } = call;
  const hold = (why: string): Outcome =>
    park("held", "not_verified", `${why}. Last: ${error}`, error);
  if (isItsOwnFault(job, call))
    return hold("The service judges other signatures, but not this one");
  const paused = isPaused(job, call);
  if (!paused && isGivenUp(job, call)) return hold("The service gave no verdict for an hour");
  // A pause is no turn: a deprioritized delivery keeps its place. Expired ones wait for young ones.
  const isLate = ageOf(job, call.service) >= signatureLifetimeMs;
  const turnAt = call.why === "not asked" ? job.arrivedAt : call.service.now;
  const lastTurnAt = isLate ? turnAt + giveUpMs : turnAt;
  return retryIn(delayMs(job, call, paused), error, {
    countsAsAttempt: countsAsAttempt(job, call),
    retryState: JSON.stringify(call.state),
    ...(givesWay(job, call) && { lastTurnAt }),
  });
}

/** Whether the key is to blame for a refusal: until another signature is judged, it is. */
export function isKeySuspect({ state, service }: Pick<CallInVain, "state" | "service">): boolean {
  const isFirst = service.judgedAt === Number.NEGATIVE_INFINITY && state.ownFaults === 1;
  return service.open === "unauthorized" || isFirst;
}

function isItsOwnFault(job: Job, { why, state, service }: CallInVain): boolean {
  if (why === "not asked" || (state.ownFaults ?? 0) < ownFaultsMax) return false;
  return why === "unauthorized"
    ? isJudgedSince(retryStateOf(job), service.judgedAt)
    : isWorking(service);
}

/** Whether verification pauses for the key, and no signature was judged since this one came: it had no chance yet. */
function isPaused(job: Job, call: CallInVain): boolean {
  const { why, service } = call;
  const isKey = service.open === "unauthorized" || (why === "unauthorized" && isKeySuspect(call));
  return isKey && service.judgedAt < job.arrivedAt;
}

function isGivenUp(job: Job, { service }: CallInVain): boolean {
  return job.released ? job.attempts + 1 >= releasedAttempts : ageOf(job, service) >= giveUpMs;
}

function delayMs(job: Job, call: CallInVain, paused: boolean): number {
  const { why, retryAfterMs, service } = call;
  const age = ageOf(job, service);
  const isAsked = why !== "not asked" || age >= signatureLifetimeMs;
  const ownMs = isAsked ? backoffMs(job.attempts + 1, age, retryAfterMs) : 0;
  // Such refusals and pauses are not counted until they concern this signature: use the age instead.
  const isForKey =
    why === "unauthorized" || (why === "not asked" && service.open === "unauthorized");
  const uncountedMs = isForKey ? Math.min(age, uncountedPauseMaxMs) : 0;
  const delay = Math.max(ownMs, uncountedMs, call.openMs);
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

function countsAsAttempt(job: Job, { why, service }: CallInVain): boolean {
  if (why === "not asked") return job.released;
  return why !== "unauthorized" || isJudgedSince(retryStateOf(job), service.judgedAt);
}

/** Whether to deprioritize: junk must not delay genuine deliveries, or use up every probe. */
function givesWay(job: Job, { why, service }: CallInVain): boolean {
  if (ageOf(job, service) >= signatureLifetimeMs) return true;
  if (why === "not asked") return false;
  const isDoubtful = why === "bad_request" || why === "unauthorized" || isWorking(service);
  return isDoubtful || job.attempts > 0 || service.open !== null;
}

function isWorking({ now, judgedAt }: ServiceState): boolean {
  return now - judgedAt < recentMs;
}

/** How long it is known to have waited, in milliseconds. */
function ageOf({ arrivedAt }: Job, { now, knownSince }: ServiceState): number {
  return now - Math.max(arrivedAt, knownSince);
}
