import type { StopSignal } from "./abort.ts";
import type { Decision, ProblemCode } from "./acknowledge.ts";
import type { Arrival, Job, NewDelivery, Outcome } from "./delivery.ts";
import { jobAt } from "./entry.ts";
import type { Worker } from "./worker.ts";

/** `verify: "before-ack"`: where the delivery begins, or how it is refused; without a verdict in time it is received. */
export function arrivalAfter(outcome: Outcome): Arrival | { refused: ProblemCode } {
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
  delivery: NewDelivery,
  admitted: Arrival,
  {
    signal,
    report,
  }: {
    readonly signal: StopSignal;
    readonly report: (job: Job, outcome: Outcome) => void;
  },
): Promise<Decision> {
  let job = jobAt(delivery, admitted);
  if (job.stage === "verify") {
    const outcome = await worker.verify(job, signal, { wait: false });
    report(job, outcome);
    if (outcome.to === "rejected") return arrivalAfter(outcome) as Decision;
    if (outcome.to === "held") return { refused: "expired_signature" };
    if (outcome.to !== "verified") return { refused: "not_handled" };
    job = jobAt(delivery, outcome);
  }
  const outcome = await worker.handle(job, signal);
  report(job, outcome);
  return outcome.to === "handled" ? { status: "accepted", id: job.id } : { refused: "not_handled" };
}
