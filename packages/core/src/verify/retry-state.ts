import type { Outage, WithoutVerdict } from "../client/authorizer.ts";
import type { Job } from "../inbox/delivery.ts";

/** The state of a delivery between two authorize calls. */
export interface RetryState {
  /** It was rejected, and a person has it asked about again: set by the inbox. */
  readonly askedAgain?: boolean;
  /** Whether a call, or a pause in place of one, got no answer while this signature was young. */
  readonly wasUnanswered?: boolean;
  /** The number of answers that concerned this one signature: 400, 401, 403, 404 or 422. */
  readonly ownFaults?: number;
  /** When the signature was last refused, by lived time in milliseconds. */
  readonly refusedAt?: number;
}

/** Why there is no verdict; `not asked`: the circuit breaker was open. */
export type Unjudged = WithoutVerdict | "not asked";

/** The state of the service, as far as this process knows it. */
export interface ServiceState {
  /** Lived time, and since when this process has seen it pass. */
  readonly now: number;
  readonly knownSince: number;
  /** Why the circuit breaker is open; null while it is closed. */
  readonly open: Outage | null;
  /** When the call began that last got a verdict; `-Infinity` when none did. */
  readonly judgedAt: number;
}

const promptMs = 60_000;

/** Reads the state of a delivery; empty at first. */
export function retryStateOf({ retryState }: Pick<Job, "retryState">): RetryState {
  return retryState === null ? {} : (JSON.parse(retryState) as RetryState);
}

/** Computes the state after a call without a verdict, or without a call. */
export function nextRetryState(
  job: Pick<Job, "retryState" | "arrivedAt">,
  why: Unjudged,
  { now, open, judgedAt }: ServiceState,
): RetryState {
  const before = retryStateOf(job);
  const isUnanswered =
    why === "unavailable" || why === "unknown" || (why === "not asked" && open === "unavailable");
  const isPrompt = now - job.arrivedAt < promptMs;
  // A refusal counts against this signature if it is the first, or if another signature was judged since.
  const isOwn = before.refusedAt === undefined || isJudgedSince(before, judgedAt);
  const isOwnFault = why === "bad_request" || (why === "unauthorized" && isOwn);
  const refusedAt = why === "unauthorized" ? now : before.refusedAt;
  return {
    ...(before.askedAgain === true && { askedAgain: true }),
    wasUnanswered: before.wasUnanswered === true || (isUnanswered && isPrompt),
    ownFaults: (before.ownFaults ?? 0) + (isOwnFault ? 1 : 0),
    ...(refusedAt !== undefined && { refusedAt }),
  };
}

/** Whether another signature was asked about, and judged, since this one was last refused: then the key is not to blame. */
export function isJudgedSince({ refusedAt }: RetryState, judgedAt: number): boolean {
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
