import { type Entry, isParked, type Job, type Outcome } from "../inbox/delivery.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import { type Watch, watch } from "./watcher.ts";

/** Hooks, each called with the entry after the step, before its next try has a time. Errors of hooks are logged. */
export interface Observe {
  /** Stored, and about to be answered. */
  readonly acknowledged?: ((entry: Entry) => void) | undefined;
  /** The service has given its verdict. */
  readonly verified?: ((entry: Entry) => void) | undefined;
  /** All handlers succeeded. */
  readonly handled?: ((entry: Entry) => void) | undefined;
  /** An attempt to handle failed. */
  readonly failed?: ((entry: Entry) => void) | undefined;
  /** Held or dead: a person is needed. */
  readonly parked?: ((entry: Entry) => void) | undefined;
  /** The result of `alerts`. */
  readonly [watch]?: Watch | undefined;
}

/** Tells the hooks that fit an outcome. */
export function notifyHooks(
  hooks: Observe,
  job: Job,
  outcome: Outcome,
  clock: ReceiverClock,
  onError: (error: unknown) => void,
): void {
  const handling = job.stage === "handle";
  const call = (hook: ((entry: Entry) => void) | undefined, fits: boolean): void => {
    if (hook && fits) callHook(hook, entryAfter(job, outcome, clock), onError);
  };
  call(hooks.verified, !handling && hasVerdict(outcome));
  call(hooks.handled, handling && outcome.to === "handled");
  call(hooks.failed, handling && attemptFailed(outcome));
  call(hooks.parked, outcome.to !== "retry" && isParked(outcome.to as Entry["state"]));
}

/** Calls one hook. */
export function callHook(
  hook: (entry: Entry) => void,
  entry: Entry,
  onError: (error: unknown) => void,
): void {
  try {
    Promise.resolve(hook(entry)).catch(onError);
  } catch (error) {
    onError(error);
  }
}

function hasVerdict(outcome: Outcome): boolean {
  return (
    outcome.to === "rejected" || ("verification" in outcome && outcome.verification !== undefined)
  );
}

function attemptFailed(outcome: Outcome): boolean {
  return outcome.to === "dead" || (outcome.to === "retry" && outcome.countsAsAttempt);
}

function entryAfter(job: Job, outcome: Outcome, clock: ReceiverClock): Entry {
  const now = clock.now();
  const again = outcome.to === "retry" ? outcome : null;
  const advances = outcome.to === "verified";
  const counted = again === null || again.countsAsAttempt ? 1 : 0;
  return {
    id: job.id,
    state: outcome.to === "retry" ? job.state : outcome.to,
    reason: "reason" in outcome ? outcome.reason : null,
    type: ("type" in outcome && outcome.type) || job.type,
    reportId: ("reportId" in outcome && outcome.reportId) || job.reportId,
    receivedAt: job.receivedAt,
    attempts: advances ? 0 : job.attempts + counted,
    nextAttemptAt: again === null ? null : new Date(now + again.afterMs + clock.wallOffset),
    lastError: ("error" in outcome && outcome.error) || null,
    changedAt: new Date(now),
    ackMs: job.ackMs,
  };
}
