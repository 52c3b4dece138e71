import type {
  ActRecord,
  Attempt,
  Entry,
  KeptHeaders,
  Reason,
  Stage,
  State,
  Verification,
} from "@reporthook/core";
import {
  isAttempt,
  isUnsigned,
  type StoredDelivery,
  type StoredHistory,
  states,
  timeOf,
  tryGet,
} from "@reporthook/core/store";
import type { Row, Value } from "../database/driver.ts";
import { positionOf, type Queued, type QueuePosition, queues } from "./position.ts";

type Encoder = (stored: StoredDelivery, position: QueuePosition) => Value;

/** The columns that change during the work on a delivery, each with its value of a delivery in memory. */
const encoders: Readonly<Record<string, Encoder>> = {
  state: ({ state }) => states.indexOf(state),
  queue: (_kept, { queue }) => queue,
  rank: (_kept, { rank }) => rank,
  attempts: ({ attempts }) => attempts,
  due_at: ({ dueAt }) => dueAt,
  last_turn_at: ({ lastTurnAt }) => lastTurnAt,
  verification: ({ verification }) => verification,
  type: ({ type }) => type,
  report: ({ reportId }) => reportId,
  reason: ({ reason }) => reason?.code ?? null,
  reason_message: ({ reason }) => reason?.message ?? null,
  released: ({ released }) => (released ? 1 : 0),
  retry_state: ({ retryState }) => retryState,
  last_error: ({ lastError }) => lastError,
  error: ({ error }) => error,
  changed_at: ({ changedAt }) => changedAt,
  kept_as: (stored, { queue }) => (queue === null ? retentionClassOf(stored) : null),
  history: ({ history }) => historyText(history),
  signature: ({ signature }) => signature,
};

/** The names of the columns in {@link Changes}, in their order. */
export const changedColumns: readonly string[] = Object.keys(encoders);

/** Values of {@link changedColumns}: only this file reads them by position. Names would cross to the thread with each. */
export type Changes = readonly Value[];

/** The changes that store a delivery in memory. */
export function changesOf(stored: StoredDelivery, now: number): Changes {
  const position = positionOf(stored, now);
  return inOrder.map((encode) => encode(stored, position));
}

const inOrder = Object.values(encoders);
const [queueAt, rankAt, retentionClassAt] = ["queue", "rank", "kept_as"].map((name) =>
  changedColumns.indexOf(name),
) as [number, number, number];

/** The stage that a delivery waits for after these changes; null at the end of its way. */
export function queuedAfter(changes: Changes): Queued | null {
  const queue = changes[queueAt];
  if (typeof queue !== "number") return null;
  const stage = queue < queues.handle.later ? "verify" : "handle";
  return { stage, dueAt: queue === queues[stage].later ? Number(changes[rankAt]) : null };
}

/** Leases the delivery to a worker with these changes. */
export function withLease(workerId: number, stage: Stage, changes: Changes): Changes {
  const leased = [...changes];
  leased[queueAt] = queues[stage].leased;
  leased[rankAt] = workerId;
  return leased;
}

/** One of {@link retentionClass}; null while the delivery waits. */
export function retentionClassAfter(changes: Changes): Value {
  return changes[retentionClassAt] ?? null;
}

/**
 * The retention of a delivery at the end of its way. `unsigned` is held; `announced` is a parked one whose end was announced: a
 * change of the delivery ends that. `rejected` is without body and signature, `wholeRejected` with them. Of `keyOnly`, a handled one, only the key is left, by which a copy is a duplicate.
 */
export const retentionClass = {
  rejected: 0,
  unsigned: 1,
  handled: 2,
  parked: 3,
  unsignedHandled: 4,
  unsignedDead: 5,
  announced: 6,
  keyOnly: 7,
  wholeRejected: 8,
} as const;

type StoredAttempt = [
  Attempt["stage"],
  at: number,
  ms: number,
  outcome: Attempt["outcome"],
  Attempt["error"],
];
type StoredAct = [ActRecord["act"], at: number, ActRecord["by"]];

function historyText(history: StoredHistory): string | null {
  const stored = history.map((item): StoredAttempt | StoredAct => {
    const at = item.at.getTime();
    if (!isAttempt(item)) return [item.act, at, item.by];
    return [item.stage, at, item.ms, item.outcome, item.error];
  });
  return stored.length === 0 ? null : JSON.stringify(stored);
}

function retentionClassOf(stored: StoredDelivery): number {
  const { state } = stored;
  const unsigned = isUnsigned(stored);
  if (state === "rejected") {
    return stored.body === null ? retentionClass.rejected : retentionClass.wholeRejected;
  }
  if (state === "handled")
    return unsigned ? retentionClass.unsignedHandled : retentionClass.handled;
  if (!unsigned) return retentionClass.parked;
  return state === "dead" ? retentionClass.unsignedDead : retentionClass.unsigned;
}

/** Headers that are stored by position, as a part of the file's format: with their names each row would be a tenth longer. */
const positional = ["content-type", "user-agent", "traceparent"];

/** The text of the column `headers`. */
export function headersText(headers: KeptHeaders): string {
  const isPositional = Object.keys(headers).every((name) => positional.includes(name));
  return JSON.stringify(isPositional ? positional.map((name) => headers[name]) : headers);
}

/** The delivery in a row. */
export function storedDeliveryOf(row: Row, receiver: string): StoredDelivery {
  const text = (name: string): string | null => (row[name] ?? null) as string | null;
  const state = stateOf(row);
  const id = String(row["id"]);
  // Written out, in the order of newStoredDelivery: objects of one shape cost a tenth.
  return {
    id,
    receiver,
    receivedAt: timeOf(id),
    arrivedAt: Number(row["arrived_at"]),
    url: text("url") ?? "",
    context: text("context"),
    requestId: text("request"),
    headers: headersOf(text("headers")),
    body: (row["body"] ?? null) as Uint8Array | null,
    signature: text("signature"),
    state,
    stage: state === "received" ? "verify" : "handle",
    reason: reasonOf(row),
    type: text("type") as Entry["type"],
    reportId: text("report"),
    verification: text("verification") as Verification | null,
    released: row["released"] === 1,
    attempts: Number(row["attempts"]) || 0,
    // Null while it is due from its receipt on.
    dueAt: Number(row["due_at"] ?? row["arrived_at"]),
    lastTurnAt: (row["last_turn_at"] ?? null) as number | null,
    retryState: text("retry_state"),
    sameSignatureAs: text("same_signature_as"),
    lastError: text("last_error"),
    error: text("error"),
    changedAt: Number(row["changed_at"] ?? row["arrived_at"]),
    announcedAt: null,
    history: historyOf(text("history")),
  };
}

/** The state in a row. */
export function stateOf({ state }: Row): State {
  return states[Number(state)] as State;
}

/** The reason in a row. */
export function reasonOf({ reason = null, reason_message: message = "" }: Row): Reason | null {
  return reason === null ? null : { code: reason as Reason["code"], message: String(message) };
}

function historyOf(json: string | null): StoredHistory {
  // Invalid if somebody has changed the file: the rest of the row still counts.
  const items = tryGet(() => JSON.parse(json ?? "null"));
  if (!Array.isArray(items)) return [];
  return items.filter(Array.isArray).map((item) => {
    if (item.length === 3) {
      const [act, at, by] = item as StoredAct;
      return { at: new Date(at), act, by };
    }
    const [stage, at, ms, outcome, error] = item as StoredAttempt;
    return { stage, at: new Date(at), ms, outcome, error };
  });
}

function headersOf(json: string | null): StoredDelivery["headers"] {
  const headers = tryGet(() => JSON.parse(json ?? "null"));
  if (Array.isArray(headers)) {
    const given = positional.map((name, index) => [name, headers[index]] as const);
    return Object.fromEntries(given.filter(([, value]) => typeof value === "string"));
  }
  return typeof headers === "object" && headers !== null
    ? (headers as StoredDelivery["headers"])
    : {};
}
