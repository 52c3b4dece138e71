import type { HandleStage } from "../handle/handle-stage.ts";
import type { ProblemCode, ReceiveResult, Refusal } from "../http/answer.ts";
import type { Arrival, NewDelivery, Outcome } from "../inbox/delivery.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import type { StopSignal } from "../lib/abort.ts";
import { isTiedToRequests } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import type { Deadline } from "../lib/time/deadline.ts";
import { type TimeoutScope, withTimeout } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { VerifyStage } from "../verify/verify-stage.ts";

/** The result when the time is used up; `isOurs` once it is known. */
type Late = { -readonly [Name in keyof Refusal]: Refusal[Name] };

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
    if (first !== undefined) return this.#inTime(id, deadline, async () => copyOf(await first));
    const late: Late = { refused: "not_handled", id };
    const handled = this.#inTime(
      id,
      deadline,
      (scope) => this.#handleWithin(delivery, admitted, scope, late),
      late,
    );
    // Unsigned notifications have no copies, and no request of a Worker may wait for another one.
    if (delivery.key === null || isTiedToRequests()) return handled;
    this.#running.set(id, handled);
    return handled.finally(() => this.#running.delete(id));
  }

  async #handleWithin(
    delivery: NewDelivery,
    admitted: Arrival,
    { signal }: TimeoutScope,
    late: Late,
  ): Promise<ReceiveResult> {
    // No other process knows of it.
    const lease = { signal, isHeld: () => true };
    let job = jobAt(delivery, admitted);
    if (job.stage === "verify") {
      const outcome = await this.#verify.run(job, lease);
      this.#reporter.tell("settled", job, outcome);
      const refused = refusalAfter(outcome);
      if (refused !== null) return { refused };
      if (outcome.to === "held" && outcome.reason.code === "no_token") {
        return { refused: "not_found" };
      }
      if (outcome.to === "held") {
        this.#settings.oncePerMinute.warn({ id: job.id }, messages.expiredNotHeld);
        return { refused: "expired_signature" };
      }
      if (outcome.to !== "verified") return { refused: "not_handled" };
      job = jobAt(delivery, outcome);
    }
    const isOurs = job.verification === "valid";
    late.isOurs = isOurs;
    const outcome = await this.#handle.run(job, lease);
    this.#reporter.tell("settled", job, outcome);
    return outcome.to === "handled"
      ? { status: "accepted", id: job.id }
      : { refused: "not_handled", isOurs };
  }

  async #inTime(
    id: string,
    deadline: Deadline,
    run: (scope: TimeoutScope) => Promise<ReceiveResult>,
    late: Late = { refused: "not_handled", id },
  ): Promise<ReceiveResult> {
    const { oncePerMinute } = this.#settings;
    const why = "The time of the request is used up";
    const bounds = { clock: deadline, ms: deadline.leftMs, late: why, parent: this.#closing };
    try {
      return { ...(await withTimeout(bounds, run)), id };
    } catch (error) {
      const fields = { id, error: describe(error) };
      // Nothing else names a genuine one.
      oncePerMinute.warn(fields, messages.notHandledInTime, late.isOurs === true ? id : null);
      return late;
    }
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
