import { type Entry, isParked, type Job, type Outcome } from "../inbox/delivery.ts";
import { errorKeyAfter } from "../inbox/facts/error-groups.ts";
import { entryOf, newStoredDelivery } from "../inbox/stored-delivery.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import type { Instrument, Instrumentation, watch } from "./instrumentation.ts";

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
  readonly [watch]?: Instrument | undefined;
}

/** Makes hooks an instrument; `onError` is given what they throw, at once or later. */
export function hooksOf(
  hooks: Observe,
  clock: ReceiverClock,
  onError: (error: unknown) => void,
): Instrumentation {
  const call = (hook: (entry: Entry) => void, entry: Entry): void => {
    try {
      Promise.resolve(hook(entry)).catch(onError);
    } catch (error) {
      onError(error);
    }
  };
  return {
    stored(delivery, arrival) {
      if (hooks.acknowledged === undefined) return;
      const stored = newStoredDelivery(delivery, arrival, null);
      call(hooks.acknowledged, entryOf(stored, clock.wallOffset));
    },
    settled(job, outcome) {
      const tell = (hook: ((entry: Entry) => void) | undefined, fits: boolean): void => {
        if (hook && fits) call(hook, entryAfter(job, outcome, clock));
      };
      const handling = job.stage === "handle";
      tell(hooks.verified, !handling && hasVerdict(job, outcome));
      tell(hooks.handled, handling && outcome.to === "handled");
      tell(hooks.failed, handling && attemptFailed(outcome));
      tell(hooks.parked, outcome.to !== "retry" && isParked(outcome.to as Entry["state"]));
    },
  };
}

function isHeldOnArrival(job: Job, outcome: Outcome): boolean {
  return job.state === "held" && outcome.to === "held";
}

function hasVerdict(job: Job, outcome: Outcome): boolean {
  if (isHeldOnArrival(job, outcome)) return false;
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
  const isUncounted = again?.countsAsAttempt === false || isHeldOnArrival(job, outcome);
  return {
    id: job.id,
    state: outcome.to === "retry" ? job.state : outcome.to,
    reason: "reason" in outcome ? outcome.reason : null,
    type: ("type" in outcome && outcome.type) || job.type,
    reportId: ("reportId" in outcome && outcome.reportId) || job.reportId,
    requestId: job.requestId,
    receivedAt: job.receivedAt,
    attempts: advances ? 0 : job.attempts + (isUncounted ? 0 : 1),
    nextAttemptAt: again === null ? null : new Date(now + again.afterMs + clock.wallOffset),
    lastError: ("error" in outcome && outcome.error) || null,
    error: errorKeyAfter(outcome),
    changedAt: new Date(now),
  };
}
