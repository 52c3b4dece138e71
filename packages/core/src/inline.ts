import type { Decision } from "./acknowledge.ts";
import { type Clock, quietTimeout } from "./clock.ts";
import type { Arrival, Job, Outcome } from "./delivery.ts";
import type { Worker } from "./worker.ts";

/** `verify: "before-ack"`: where the delivery begins, or how it is refused; without a verdict in time it is received. */
export function arrivalAfter(outcome: Outcome): Arrival | Decision {
  switch (outcome.to) {
    case "verified":
      return outcome;
    case "held":
      return { ...outcome, to: "held" };
    case "rejected":
      return {
        refused: outcome.reason.code === "expired" ? "expired_signature" : "invalid_signature",
      };
    default:
      return { to: "received" };
  }
}

/** `ack: "handled"`: verifies and handles inside the request; accepted only when the handlers succeeded. */
export async function handleInline(
  worker: Worker,
  job: Job,
  signal: AbortSignal,
): Promise<{ readonly decision: Decision; readonly outcomes: readonly [Job, Outcome][] }> {
  const outcomes: [Job, Outcome][] = [];
  let verified = job;
  if (job.signature !== null) {
    const outcome = await worker.verify(job, signal);
    outcomes.push([job, outcome]);
    if (outcome.to === "rejected") return { decision: arrivalAfter(outcome) as Decision, outcomes };
    if (outcome.to === "held") return { decision: { refused: "expired_signature" }, outcomes };
    if (outcome.to !== "verified") return { decision: { refused: "not_handled" }, outcomes };
    const { verification, type, reportId } = outcome;
    verified = {
      ...job,
      state: "verified",
      stage: "handle",
      signature: null,
      verification,
      type,
      reportId,
    };
  }
  const outcome = await worker.handle(verified, signal);
  outcomes.push([verified, outcome]);
  const handled = outcome.to === "handled";
  return {
    decision: handled ? { status: "accepted", id: job.id } : { refused: "not_handled" },
    outcomes,
  };
}

/** Runs `run` with a signal that is aborted after `ms` milliseconds. */
export async function within<T>(
  clock: Clock,
  ms: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error("The time of the request is used up"));
  const timer = quietTimeout(clock, abort, ms);
  try {
    return await run(controller.signal);
  } finally {
    clock.clearTimeout(timer);
  }
}
