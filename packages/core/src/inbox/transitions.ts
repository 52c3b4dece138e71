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

/** Now, by lived time in milliseconds, and what to add to it for people. */
export interface LivedMoment {
  readonly now: number;
  readonly wallOffset: number;
}

/**
 * Applies the outcome of an attempt that began at `startedAt` of lived time. A rejected delivery, and an unsigned one that was handled, keep neither body nor path.
 */
export function applyOutcome(
  stored: StoredDelivery,
  outcome: Outcome,
  startedAt: number,
  { now, wallOffset }: LivedMoment,
): void {
  const { stage } = stored;
  const error = ("error" in outcome && outcome.error) || null;
  const at = new Date(startedAt + wallOffset);
  remember(stored, { stage, at, ms: now - startedAt, outcome: outcome.to, error });
  stored.type = outcome.type ?? stored.type;
  stored.reportId = outcome.reportId ?? stored.reportId;
  stored.lastError = error;
  // Of another process, which may be ahead.
  stored.changedAt = Math.max(now, stored.changedAt);
  if (outcome.to === "retry") {
    stored.attempts += outcome.countsAsAttempt ? 1 : 0;
    stored.dueAt = now + outcome.afterMs;
    stored.lowPriority = outcome.lowPriority ?? stored.lowPriority;
    stored.retryState = outcome.retryState ?? stored.retryState;
    return;
  }
  stored.attempts = outcome.to === "verified" ? 0 : stored.attempts + 1;
  stored.state = outcome.to;
  stored.stage = outcome.to === "verified" ? "handle" : stage;
  stored.reason = "reason" in outcome ? outcome.reason : null;
  stored.verification = ("verification" in outcome && outcome.verification) || stored.verification;
  stored.dueAt = now;
  stored.lowPriority = false;
  stored.retryState = null;
  const isOver = stored.state === "rejected" || stored.state === "handled";
  if (stored.verification !== null || isOver) stored.signature = null;
  if (stored.state === "rejected" || (stored.state === "handled" && isUnsigned(stored))) {
    stored.body = null;
    stored.url = "";
  }
}

/** Reopens a delivery: to be verified while its signature is kept and has no verdict, else to be handled. */
export function reopen(stored: StoredDelivery, now: number): void {
  const unverified = stored.verification === null && stored.signature !== null;
  stored.state = unverified ? "received" : "verified";
  stored.stage = unverified ? "verify" : "handle";
  stored.reason = null;
  stored.released = true;
  stored.attempts = 0;
  stored.dueAt = now;
  stored.changedAt = Math.max(now, stored.changedAt);
  stored.lowPriority = false;
  stored.retryState = null;
}

function withRoomFor({ stage }: Attempt, history: StoredDelivery["history"]): readonly Attempt[] {
  if (history.length < historyOfStage) return history;
  const ofStage = history.filter((one) => one.stage === stage);
  return ofStage.length < historyOfStage ? history : history.filter((one) => one !== ofStage[0]);
}

function remember(stored: StoredDelivery, attempt: Attempt): void {
  stored.history = [...withRoomFor(attempt, stored.history), attempt];
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
