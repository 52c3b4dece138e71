// All changes of a stored delivery; ARCHITECTURE.md draws the states. Retention deletes handled, held, dead and rejected ones.

import type { ActQuery } from "./acts/act.ts";
import {
  type ActRecord,
  type Attempt,
  isParked,
  isWaiting,
  type Job,
  type Outcome,
} from "./delivery.ts";
import { errorKeyAfter } from "./facts/error-groups.ts";
import type { StoredDelivery } from "./stored-delivery.ts";

const historyOfKind = 20;

/** Now, by lived time in milliseconds, and what to add to it for people. */
export interface LivedMoment {
  readonly now: number;
  readonly wallOffset: number;
}

/** When a person acts, and who. */
type ActMoment = Pick<ActQuery, "now" | "wallOffset" | "by">;

/**
 * Applies the outcome of an attempt that began at `startedAt` of lived time. A rejected delivery keeps its signature, for a retry.
 */
export function applyOutcome(
  stored: StoredDelivery,
  outcome: Outcome,
  startedAt: number,
  { now, wallOffset }: LivedMoment,
): void {
  const { stage } = stored;
  const error = outcome.error ?? null;
  const at = new Date(startedAt + wallOffset);
  remember(stored, { stage, at, ms: now - startedAt, outcome: outcome.to, error });
  stored.type = outcome.type ?? stored.type;
  stored.reportId = outcome.reportId ?? stored.reportId;
  stored.lastError = error;
  stored.error = errorKeyAfter(outcome);
  changedAt(stored, now);
  if (outcome.to === "retry") {
    stored.attempts += outcome.countsAsAttempt ? 1 : 0;
    stored.dueAt = now + outcome.afterMs;
    const { lastTurnAt: turn } = outcome;
    if (turn !== undefined) stored.lastTurnAt = Math.max(turn, stored.lastTurnAt ?? turn);
    stored.retryState = outcome.retryState ?? stored.retryState;
    return;
  }
  stored.attempts = outcome.to === "verified" ? 0 : stored.attempts + 1;
  stored.state = outcome.to;
  stored.stage = outcome.to === "verified" ? "handle" : stage;
  stored.reason = outcome.reason ?? null;
  stored.verification = outcome.verification ?? stored.verification;
  stored.dueAt = now;
  stored.lastTurnAt = null;
  stored.retryState = null;
  if (stored.state === "rejected") return;
  if (stored.verification !== null || stored.state === "handled") stored.signature = null;
}

/** Drops what only the work on a delivery needs: its body, path and signature. */
export function dropContent(stored: StoredDelivery): void {
  stored.body = null;
  stored.url = "";
  stored.signature = null;
}

/** Applies the act of a person that does not delete the delivery. The attempts of one that waits continue to count. */
export function applyAct(stored: StoredDelivery, query: ActMoment & Pick<ActQuery, "act">): void {
  const { now } = query;
  const act = query.act === "release" ? "release" : "retry";
  if (act === "release") reopen(stored, now);
  else if (stored.state === "rejected") askAgain(stored, now);
  else stored.dueAt = now;
  rememberAct(stored, act, query);
}

const erased = "Erased by a person: its body, errors and context are gone. It can't be released.";

/** Removes what a delivery tells: body, errors, context. One that waits becomes `dead`; the others stay what they are. */
export function applyErasing(stored: StoredDelivery, moment: ActMoment): void {
  dropContent(stored);
  stored.context = null;
  stored.lastError = null;
  stored.error = null;
  stored.history = stored.history.map((item) =>
    isAttempt(item) ? { ...item, error: null } : item,
  );
  if (isWaiting(stored.state)) stored.state = "dead";
  if (isParked(stored.state)) stored.reason = { code: "erased", message: erased };
  else if (stored.reason !== null) stored.reason = { ...stored.reason, message: erased };
  rememberAct(stored, "erase", moment);
}

/** Reopens a delivery for a person: to be verified while its signature is kept and has no verdict, else to be handled. */
function reopen(stored: StoredDelivery, now: number): void {
  const unverified = stored.verification === null && stored.signature !== null;
  stored.released = true;
  beginAgain(stored, unverified ? "received" : "verified", now);
}

/** Has the service asked again about a rejected delivery, for a person; a release that came before the rejection is over. */
function askAgain(stored: StoredDelivery, now: number): void {
  stored.verification = null;
  stored.released = false;
  beginAgain(stored, "received", now);
  stored.retryState = JSON.stringify({ askedAgain: true } satisfies RetryState);
}

/** The state of a delivery between two authorize calls. */
export interface RetryState {
  /** It was rejected, and a person has it asked about again. */
  readonly askedAgain?: boolean;
  /** Whether a call, or a pause in place of one, got no answer while this signature was young. */
  readonly wasUnanswered?: boolean;
  /** The number of answers that concerned this one signature: 400, 401, 403, 404 or 422. */
  readonly ownFaults?: number;
  /** When the last such answer came, by lived time in milliseconds. */
  readonly refusedAt?: number;
}

/** Reads the state of a delivery; empty at first. */
export function retryStateOf({ retryState }: Pick<Job, "retryState">): RetryState {
  return retryState === null ? {} : (JSON.parse(retryState) as RetryState);
}

function beginAgain(stored: StoredDelivery, state: "received" | "verified", now: number): void {
  stored.state = state;
  stored.stage = state === "received" ? "verify" : "handle";
  stored.reason = null;
  stored.attempts = 0;
  stored.dueAt = now;
  stored.announcedAt = null;
  stored.lastTurnAt = null;
  stored.retryState = null;
}

function rememberAct(
  stored: StoredDelivery,
  act: ActRecord["act"],
  { now, wallOffset = 0, by }: ActMoment,
): void {
  changedAt(stored, now);
  remember(stored, { at: new Date(now + wallOffset), act, by });
}

/** The last change may be of another process, which may be ahead. */
function changedAt(stored: StoredDelivery, now: number): void {
  stored.changedAt = Math.max(now, stored.changedAt);
}

/** Adds to the history; the oldest of its kind, a stage or the acts of people, makes room. */
function remember(stored: StoredDelivery, item: Attempt | ActRecord): void {
  const { history } = stored;
  const alike = history.length < historyOfKind ? [] : history.filter(isAlike(item));
  const kept = alike.length < historyOfKind ? history : history.filter((one) => one !== alike[0]);
  stored.history = [...kept, item];
}

function isAlike(item: Attempt | ActRecord): (other: Attempt | ActRecord) => boolean {
  const kindOf = (one: Attempt | ActRecord): string => (isAttempt(one) ? one.stage : "act");
  return (other) => kindOf(other) === kindOf(item);
}

/** Whether an item of a history is an attempt, not the act of a person. */
export function isAttempt(item: Attempt | ActRecord): item is Attempt {
  return "stage" in item;
}
