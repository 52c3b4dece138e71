import { contextOf } from "../callback-urls/callback-url.ts";
import { tryGet } from "../lib/safe-get.ts";
import {
  type Arrival,
  type Entry,
  type EntryDetails,
  isWaiting,
  type Job,
  type NewDelivery,
  type Stage,
  type State,
} from "./delivery.ts";

/** A delivery as an inbox stores it. All times but `receivedAt` and those of attempts are lived times. */
export interface StoredDelivery
  extends Pick<
    NewDelivery,
    "id" | "receiver" | "receivedAt" | "arrivedAt" | "requestId" | "headers"
  > {
  url: string;
  context: string | null;
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
  lastTurnAt: number | null;
  retryState: string | null;
  sameSignatureAs: string | null;
  lastError: string | null;
  /** The key of the group of its last error. */
  error: string | null;
  changedAt: number;
  /** When its end was announced: null until then, and for an inbox that keeps this elsewhere. */
  announcedAt: number | null;
  history: StoredHistory;
}

/** The attempts and the acts of people, oldest first. */
export type StoredHistory = EntryDetails["history"];

const emptyBytes = new Uint8Array();
const noHistory: StoredHistory = [];

/** Makes the stored form of a new delivery. */
export function newStoredDelivery(
  delivery: NewDelivery,
  arrival: Arrival,
  sameSignatureAs: string | null,
): StoredDelivery {
  const { id, receiver, receivedAt, arrivedAt, url, context, requestId, headers, body } = delivery;
  // Written out, here and below: made of spreads it is the most expensive thing on a delivery's way.
  return {
    id,
    receiver,
    receivedAt,
    arrivedAt,
    url,
    context,
    requestId,
    headers,
    body,
    signature: arrival.verification === undefined ? delivery.signature : null,
    state: arrival.to,
    stage: arrival.to === "verified" ? "handle" : "verify",
    reason: arrival.reason ?? null,
    type: arrival.type ?? null,
    reportId: arrival.reportId ?? null,
    verification: arrival.verification ?? null,
    released: false,
    attempts: 0,
    dueAt: arrivedAt,
    lastTurnAt: null,
    retryState: arrival.retryState ?? null,
    sameSignatureAs,
    lastError: null,
    error: null,
    changedAt: arrivedAt,
    announcedAt: null,
    history: noHistory,
  };
}

/** Projects a stored delivery to a list entry; `wallOffset` is what to add to lived time for people. */
export function entryOf(stored: StoredDelivery, wallOffset: number): Entry {
  return {
    id: stored.id,
    state: stored.state,
    reason: stored.reason,
    type: stored.type,
    reportId: stored.reportId,
    requestId: stored.requestId,
    receivedAt: new Date(stored.receivedAt),
    attempts: stored.attempts,
    nextAttemptAt: isWaiting(stored.state) ? new Date(stored.dueAt + wallOffset) : null,
    lastError: stored.lastError,
    error: stored.error,
    changedAt: new Date(stored.changedAt),
  };
}

/** Projects a stored delivery to its details. */
export function detailsOf(stored: StoredDelivery, wallOffset: number): EntryDetails {
  const { body, headers, history, url, verification } = stored;
  return {
    ...entryOf(stored, wallOffset),
    headers,
    url,
    context: tryGet(() => contextOf(stored)) ?? null,
    verification,
    history: [...history],
    body: body === null ? null : new TextDecoder().decode(body),
  };
}

/** Projects a stored delivery to a job. */
export function jobOf(stored: StoredDelivery): Job {
  return {
    id: stored.id,
    signature: stored.signature,
    url: stored.url,
    context: stored.context,
    headers: stored.headers,
    body: stored.body ?? emptyBytes,
    receivedAt: new Date(stored.receivedAt),
    arrivedAt: stored.arrivedAt,
    state: stored.state,
    stage: stored.stage,
    type: stored.type,
    reportId: stored.reportId,
    requestId: stored.requestId,
    attempts: stored.attempts,
    lastError: stored.lastError,
    verification: stored.verification,
    released: stored.released,
    retryState: stored.retryState,
    sameSignatureAs: stored.sameSignatureAs,
  };
}

/** Makes the job of a delivery that is not stored: to be verified, unless it arrives verified. */
export function jobAt(delivery: NewDelivery, arrival: Arrival = { to: "received" }): Job {
  return jobOf(newStoredDelivery(delivery, arrival, null));
}

/** The changes that an inbox has shown: each one after them gets a later time, so that a list can be compared with it. */
export class ShownChanges {
  #newest = Number.NEGATIVE_INFINITY;

  /** Notes an entry, and returns it. */
  show<T extends { readonly changedAt: Date } | null>(entry: T): T {
    if (entry !== null) this.#newest = Math.max(this.#newest, entry.changedAt.getTime());
    return entry;
  }

  /** The time of a change that is made at `now`. */
  after(now: number): number {
    return Math.max(now, this.#newest + 1);
  }
}

/** Whether a delivery came without a signature, and was not released. */
export function isUnsigned({
  verification,
  released,
}: Pick<StoredDelivery, "verification" | "released">): boolean {
  return verification === "unsigned" && !released;
}
