// The states of a delivery, and the transitions between them:
//
//   received   to verified, held or rejected by the verify stage; stays while there is no verdict
//   verified   to handled, held or dead by the handle stage; stays while handlers fail and attempts are left
//   handled    to verified by release
//   held       to received or verified by release; deleted by discard
//   dead       to received or verified by release; deleted by discard
//   rejected   the end
//
// A delivery begins as received, as verified (verify: "before-ack", unsigned tests) or as held (unsigned).
// Retention deletes handled, held, dead and rejected ones.
import { ReporthookError } from "../errors.ts";
import { type Attempt, isParked, type Outcome, type State } from "./delivery.ts";
import { isUnsigned } from "./retention.ts";
import type { StoredDelivery } from "./stored-delivery.ts";

const historyOfStage = 20;

/**
 * Applies the outcome of an attempt. A rejected delivery, and an unsigned one that was handled, keep neither body nor path.
 */
export function applyOutcome(
  kept: StoredDelivery,
  outcome: Outcome,
  startedAt: number,
  now: number,
): void {
  const { stage } = kept;
  const error = ("error" in outcome && outcome.error) || null;
  const at = new Date(startedAt);
  remember(kept, { stage, at, ms: now - startedAt, outcome: outcome.to, error });
  kept.type = outcome.type ?? kept.type;
  kept.reportId = outcome.reportId ?? kept.reportId;
  kept.lastError = error;
  kept.endedAt = now;
  if (outcome.to === "retry") {
    kept.attempts += outcome.countsAsAttempt ? 1 : 0;
    kept.dueAt = now + outcome.afterMs;
    kept.lowPriority = outcome.lowPriority ?? kept.lowPriority;
    kept.retryState = outcome.retryState ?? kept.retryState;
    return;
  }
  kept.attempts = outcome.to === "verified" ? 0 : kept.attempts + 1;
  kept.state = outcome.to;
  kept.stage = outcome.to === "verified" ? "handle" : stage;
  kept.reason = "reason" in outcome ? outcome.reason : null;
  kept.verification = ("verification" in outcome && outcome.verification) || kept.verification;
  kept.dueAt = now;
  kept.lowPriority = false;
  kept.retryState = null;
  const isOver = kept.state === "rejected" || kept.state === "handled";
  if (kept.verification !== null || isOver) kept.signature = null;
  if (kept.state === "rejected" || (kept.state === "handled" && isUnsigned(kept))) {
    kept.body = null;
    kept.url = "";
  }
}

/** Reopens a delivery: to be verified while its signature is kept and has no verdict, else to be handled. */
export function reopen(kept: StoredDelivery, now: number): void {
  const unverified = kept.verification === null && kept.signature !== null;
  kept.state = unverified ? "received" : "verified";
  kept.stage = unverified ? "verify" : "handle";
  kept.reason = null;
  kept.released = true;
  kept.attempts = 0;
  kept.dueAt = now;
  kept.lowPriority = false;
  kept.retryState = null;
}

function remember(kept: StoredDelivery, attempt: Attempt): void {
  const ofStage = kept.history.filter(({ stage }) => stage === attempt.stage);
  const dropped = ofStage.length === historyOfStage ? ofStage[0] : undefined;
  kept.history = [...kept.history.filter((one) => one !== dropped), attempt];
}

/** A delivery to release, retry or discard. */
interface Decided {
  readonly id: string;
  readonly state: State;
  /** Null when it is no longer kept. */
  readonly body?: Uint8Array | null;
}

/** @throws ReporthookError `not_releasable` unless it is held, dead, or handled and its body is kept */
export function assertReleasable({ id, state, body }: Decided): void {
  if (state === "handled" && body === null) {
    throw new ReporthookError(
      "not_releasable",
      `Delivery ${id} came without a signature: once it was handled its body is not kept. Send the test again`,
    );
  }
  if (isParked(state) || state === "handled") return;
  throw new ReporthookError(
    "not_releasable",
    `Delivery ${id} is ${state}: only held, dead and handled ones can be released`,
  );
}

/** @throws ReporthookError `not_parked` unless it is held or dead */
export function assertParked({ id, state }: Decided): void {
  if (isParked(state)) return;
  throw new ReporthookError(
    "not_parked",
    `Delivery ${id} is ${state}: only held and dead ones can be discarded`,
  );
}

/** The error `not_releasable` of a retry of a delivery that does not wait for one. */
export function notWaiting(id: string): ReporthookError {
  return new ReporthookError(
    "not_releasable",
    `Delivery ${id} is not waiting for a retry: only waiting deliveries can be retried`,
  );
}

/** The error `not_found`. */
export function notFound(id: string): ReporthookError {
  return new ReporthookError("not_found", `No delivery with the id ${id}`);
}
