import type { Entry, Job, Outcome } from "../inbox/delivery.ts";
import { errorKeyAfter } from "../inbox/facts/error-groups.ts";
import { entryOf, newStoredDelivery } from "../inbox/stored-delivery.ts";
import type { InboxClock } from "../lib/time/lived-clock.ts";
import type { Instrument, Instrumentation, Watched, watch } from "./instrumentation.ts";

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

/** Makes hooks an instrument; `onError` is given what they throw, at once or later. Without a store, nothing is parked. */
export function hooksOf(
  hooks: Observe,
  { ack, clock }: Pick<Watched, "ack"> & { readonly clock: InboxClock },
  onError: (error: unknown) => void,
): Instrumentation {
  const tell = (hook: Observe["handled"], entry: () => Entry): void => {
    if (hook !== undefined) (async () => hook.call(hooks, entry()))().catch(onError);
  };
  return {
    stored(delivery, arrival) {
      const stored = () => newStoredDelivery(delivery, arrival, null);
      tell(hooks.acknowledged, () => entryOf(stored(), clock.wallOffset));
    },
    settled(job, outcome) {
      const { to } = outcome;
      const entry = () => entryAfter(job, outcome, clock);
      if (job.stage === "handle") {
        if (to === "handled") tell(hooks.handled, entry);
        if (to === "dead" || (to === "retry" && outcome.countsAsAttempt)) tell(hooks.failed, entry);
      } else if (job.state !== "held") {
        const hasVerdict = to === "rejected" || outcome.verification !== undefined;
        if (hasVerdict) tell(hooks.verified, entry);
      }
      if (ack === "stored" && (to === "held" || to === "dead")) tell(hooks.parked, entry);
    },
  };
}

/** The entry after an outcome; a delivery that was held on arrival had no attempt. */
function entryAfter(job: Job, outcome: Outcome, clock: InboxClock): Entry {
  const now = clock.now();
  const again = outcome.to === "retry" ? outcome : null;
  const isAttempt = again?.countsAsAttempt ?? job.state !== "held";
  return {
    id: job.id,
    state: outcome.to === "retry" ? job.state : outcome.to,
    reason: outcome.reason ?? null,
    type: outcome.type ?? job.type,
    reportId: outcome.reportId ?? job.reportId,
    requestId: job.requestId,
    receivedAt: job.receivedAt,
    attempts: outcome.to === "verified" ? 0 : job.attempts + (isAttempt ? 1 : 0),
    nextAttemptAt: again && new Date(now + again.afterMs + clock.wallOffset),
    lastError: outcome.error ?? null,
    error: errorKeyAfter(outcome),
    changedAt: new Date(now),
  };
}
