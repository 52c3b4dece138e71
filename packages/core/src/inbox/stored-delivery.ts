import {
  type Arrival,
  type Attempt,
  type Entry,
  type EntryDetails,
  isWaiting,
  type Job,
  type NewDelivery,
  type Outcome,
  type Stage,
  type State,
} from "./delivery.ts";

/** A delivery as it is kept. */
export interface Kept {
  readonly id: string;
  /** Where its store keeps more of it, or -1. */
  readonly place: number;
  readonly receiver: string;
  readonly receivedAt: number;
  readonly context: string | null;
  readonly headers: NewDelivery["headers"];
  readonly ackMs: number;
  url: string;
  body: Uint8Array | null;
  signature: string | null;
  state: State;
  stage: Stage;
  reason: Entry["reason"];
  type: Entry["type"];
  reportId: string | null;
  verification: Job["verification"];
  released: boolean;
  attempts: number;
  dueAt: number;
  giveWay: boolean;
  memo: string | null;
  sameSignatureAs: string | null;
  lastError: string | null;
  endedAt: number;
  history: readonly Attempt[];
}

const emptyBytes = new Uint8Array();
const noAttempts: readonly Attempt[] = [];
const historyOfStage = 20;

/** What is kept of a new delivery. */
export function newKept(
  delivery: NewDelivery,
  arrival: Arrival,
  sameSignatureAs: string | null,
  place = -1,
): Kept {
  const { id, receiver, receivedAt, url, context, headers, ackMs, body } = delivery;
  // Written out, here and below: made of spreads it is the most expensive thing on a delivery's way.
  return {
    id,
    place,
    receiver,
    receivedAt,
    url,
    context,
    headers,
    ackMs,
    body,
    signature: "verification" in arrival ? null : delivery.signature,
    state: arrival.to,
    stage: arrival.to === "verified" ? "handle" : "verify",
    reason: "reason" in arrival ? arrival.reason : null,
    type: ("type" in arrival && arrival.type) || null,
    reportId: ("reportId" in arrival && arrival.reportId) || null,
    verification: ("verification" in arrival && arrival.verification) || null,
    released: false,
    attempts: 0,
    dueAt: receivedAt,
    giveWay: false,
    memo: null,
    sameSignatureAs,
    lastError: null,
    endedAt: receivedAt,
    history: noAttempts,
  };
}

/** Records what became of an attempt; of what is rejected, or was handled without a signature, nothing is kept that came. */
export function record(kept: Kept, outcome: Outcome, startedAt: number, now: number): void {
  const { stage } = kept;
  const error = ("error" in outcome && outcome.error) || null;
  const at = new Date(startedAt);
  remember(kept, { stage, at, ms: now - startedAt, outcome: outcome.to, error });
  kept.type = outcome.type ?? kept.type;
  kept.reportId = outcome.reportId ?? kept.reportId;
  kept.lastError = error;
  kept.endedAt = now;
  if (outcome.to === "again") {
    kept.attempts += outcome.counts ? 1 : 0;
    kept.dueAt = now + outcome.afterMs;
    kept.giveWay = outcome.giveWay ?? kept.giveWay;
    kept.memo = outcome.memo ?? kept.memo;
    return;
  }
  kept.attempts = outcome.to === "verified" ? 0 : kept.attempts + 1;
  kept.state = outcome.to;
  kept.stage = outcome.to === "verified" ? "handle" : stage;
  kept.reason = "reason" in outcome ? outcome.reason : null;
  kept.verification = ("verification" in outcome && outcome.verification) || kept.verification;
  kept.dueAt = now;
  kept.giveWay = false;
  kept.memo = null;
  const isOver = kept.state === "rejected" || kept.state === "handled";
  if (kept.verification !== null || isOver) kept.signature = null;
  if (kept.state === "rejected" || (kept.state === "handled" && isUnsigned(kept))) {
    kept.body = null;
    kept.url = "";
  }
}

/** Whether it came without a signature, and nobody has released it since. */
export function isUnsigned({
  verification,
  released,
}: Pick<Kept, "verification" | "released">): boolean {
  return verification === "unsigned" && !released;
}

/** Makes a released one due: without a verdict yet, its signature is still there to be asked about. */
export function rerun(kept: Kept, now: number): void {
  const unverified = kept.verification === null && kept.signature !== null;
  kept.state = unverified ? "received" : "verified";
  kept.stage = unverified ? "verify" : "handle";
  kept.reason = null;
  kept.released = true;
  kept.attempts = 0;
  kept.dueAt = now;
  kept.giveWay = false;
  kept.memo = null;
}

function remember(kept: Kept, attempt: Attempt): void {
  const ofStage = kept.history.filter(({ stage }) => stage === attempt.stage);
  const dropped = ofStage.length === historyOfStage ? ofStage[0] : undefined;
  kept.history = [...kept.history.filter((one) => one !== dropped), attempt];
}

/** It, as a list shows it. */
export function entryOf(kept: Kept): Entry {
  return {
    id: kept.id,
    state: kept.state,
    reason: kept.reason,
    type: kept.type,
    reportId: kept.reportId,
    receivedAt: new Date(kept.receivedAt),
    attempts: kept.attempts,
    nextAttemptAt: isWaiting(kept.state) ? new Date(kept.dueAt) : null,
    lastError: kept.lastError,
    ackMs: kept.ackMs,
  };
}

/** It in full. */
export function detailsOf(kept: Kept): EntryDetails {
  const { body, headers, history, verification } = kept;
  return {
    ...entryOf(kept),
    ...{ headers, verification, history: [...history] },
    body: body === null ? null : new TextDecoder().decode(body),
  };
}

/** It, as work is given it. */
export function jobOf(kept: Kept): Job {
  return {
    id: kept.id,
    signature: kept.signature,
    url: kept.url,
    context: kept.context,
    headers: kept.headers,
    body: kept.body ?? emptyBytes,
    receivedAt: new Date(kept.receivedAt),
    state: kept.state,
    stage: kept.stage,
    reason: kept.reason,
    type: kept.type,
    reportId: kept.reportId,
    attempts: kept.attempts,
    nextAttemptAt: isWaiting(kept.state) ? new Date(kept.dueAt) : null,
    lastError: kept.lastError,
    ackMs: kept.ackMs,
    verification: kept.verification,
    released: kept.released,
    memo: kept.memo,
    sameSignatureAs: kept.sameSignatureAs,
  };
}

/** A delivery as work, before it is kept: to be verified, unless it arrives verified. */
export function jobAt(delivery: NewDelivery, arrival: Arrival = { to: "received" }): Job {
  return jobOf(newKept(delivery, arrival, null));
}

/** How long handled and parked ones are kept, in milliseconds. */
export interface Retention {
  readonly handledMs: number;
  readonly parkedMs: number;
}

/** Whether its time is over. */
export function isOver(kept: Kept, { handledMs, parkedMs }: Retention, now: number): boolean {
  const { state, endedAt } = kept;
  if (isWaiting(state)) return false;
  const short = state === "rejected" || isUnsigned(kept);
  return now - endedAt > (short ? dayMs : state === "handled" ? handledMs : parkedMs);
}

/** A day in milliseconds. */
export const dayMs = 86_400_000;
