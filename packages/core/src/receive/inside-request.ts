import type { HandleStage } from "../handle/handle-stage.ts";
import type { ProblemCode, ReceiveResult } from "../http/answer.ts";
import type { Arrival, Job, NewDelivery, Outcome } from "../inbox/delivery.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import type { StopSignal } from "../lib/abort.ts";
import { isTiedToRequests } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import type { Deadline } from "../lib/time/deadline.ts";
import { withTimeout } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { VerifyStage } from "../verify/verify-stage.ts";

// Reserved for storing when authorize is asked first.
const storeMs = 1_000;

/** Runs the two stages inside the request. Never rejects. */
export class InsideRequest {
  readonly #settings: ReceiverSettings;
  readonly #verify: VerifyStage;
  readonly #handle: HandleStage;
  readonly #reporter: Reporter;
  readonly #closing: StopSignal;
  // By id, which copies of a notification share: they wait for the outcome of the first one.
  readonly #running = new Map<string, Promise<ReceiveResult>>();

  /** `closing` is aborted when `close` runs out of time. */
  constructor(
    settings: ReceiverSettings,
    verify: VerifyStage,
    handle: HandleStage,
    reporter: Reporter,
    closing: StopSignal,
  ) {
    this.#settings = settings;
    this.#verify = verify;
    this.#handle = handle;
    this.#reporter = reporter;
    this.#closing = closing;
  }

  /** `verify: "before-ack"`: the outcome of the verify stage, or null without a verdict in time. */
  async verify(delivery: NewDelivery, deadline: Deadline): Promise<Outcome | null> {
    const { limits, oncePerMinute } = this.#settings;
    const { leftMs: left } = deadline;
    const parent = this.#closing;
    const ms = Math.min(limits.verifyMs, Math.max(left - storeMs, left / 2));
    try {
      return await withTimeout(
        { clock: deadline, ms, late: "No verdict in time", parent },
        (scope) => this.#verify.run(jobAt(delivery), scope),
      );
    } catch {
      oncePerMinute.warn({ id: delivery.id, ms }, messages.noVerdictInTime);
      return null;
    }
  }

  /** `ack: "handled"`: verifies and handles; accepted only when the handlers succeeded. Names the delivery either way. */
  async handle(
    delivery: NewDelivery,
    admitted: Arrival,
    deadline: Deadline,
  ): Promise<ReceiveResult> {
    const { id } = delivery;
    if (admitted.to === "held") return { refused: "missing_signature" };
    const first = this.#running.get(id);
    if (first !== undefined) {
      // It may have come later, if its body was there earlier.
      const result = await deadline.race(first, deadline.ms);
      return result === "late" ? { refused: "not_handled", id } : copyOf(result);
    }
    const handled = this.#bothStages(delivery, admitted, deadline);
    // Unsigned notifications have no copies, and no request of a Worker may wait for another one.
    if (delivery.key === null || isTiedToRequests()) return handled;
    this.#running.set(id, handled);
    return handled.finally(() => this.#running.delete(id));
  }

  async #bothStages(
    delivery: NewDelivery,
    admitted: Arrival,
    deadline: Deadline,
  ): Promise<ReceiveResult> {
    const { id } = delivery;
    let job = jobAt(delivery, admitted);
    const notHandled = (): ReceiveResult => {
      const isOurs = job.verification === "valid";
      return { refused: "not_handled", id, ...(job.stage === "handle" && { isOurs }) };
    };
    const late = "The time of the request is used up";
    // One limit for both: the clock may leap between them.
    const bounds = { clock: deadline, ms: deadline.leftMs, late, parent: this.#closing };
    try {
      return await withTimeout(bounds, async ({ signal }) => {
        if (job.stage === "verify") {
          const outcome = await this.#outcomeOf(this.#verify, job, signal);
          if (outcome.to !== "verified") return { refused: this.#unverified(id, outcome), id };
          job = jobAt(delivery, outcome);
        }
        const { to } = await this.#outcomeOf(this.#handle, job, signal);
        return to === "handled" ? { status: "accepted", id } : notHandled();
      });
    } catch (error) {
      const fields = { id, error: describe(error) };
      // Nothing else names a genuine one.
      const each = job.verification === "valid" ? id : null;
      this.#settings.oncePerMinute.warn(fields, messages.notHandledInTime, each);
      return notHandled();
    }
  }

  #unverified(id: string, outcome: Outcome): ProblemCode {
    const refused = refusalAfter(outcome);
    if (refused !== null) return refused;
    if (outcome.to !== "held") return "not_handled";
    if (outcome.reason.code === "no_token") return "not_found";
    this.#settings.oncePerMinute.warn({ id }, messages.expiredNotHeld);
    return "expired_signature";
  }

  async #outcomeOf(
    stage: VerifyStage | HandleStage,
    job: Job,
    signal: AbortSignal,
  ): Promise<Outcome> {
    // No other process knows of it.
    const outcome = await stage.run(job, { signal, isHeld: () => true });
    this.#reporter.tell("settled", job, outcome);
    return outcome;
  }
}

function copyOf(first: ReceiveResult): ReceiveResult {
  return "status" in first ? { ...first, status: "duplicate" } : first;
}

/** The refusal of a rejected delivery inside its request; null if it is not rejected. */
export function refusalAfter(outcome: Outcome): ProblemCode | null {
  if (outcome.to !== "rejected") return null;
  return outcome.reason.code === "expired" ? "expired_signature" : "invalid_signature";
}

/** `verify: "before-ack"`: the first state of the delivery; without a verdict in time it is received. */
export function arrivalAfter(outcome: Outcome): Arrival {
  if (outcome.to === "verified") return outcome;
  if (outcome.to === "held") return { ...outcome, to: "held" };
  const retryState = outcome.to === "retry" ? outcome.retryState : undefined;
  return { to: "received", ...(retryState !== undefined && { retryState }) };
}
