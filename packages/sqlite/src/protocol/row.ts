import type {
  Attempt,
  Entry,
  KeptHeaders,
  Reason,
  Stage,
  State,
  Verification,
} from "@reporthook/core";
import { isUnsigned, type Kept, states } from "@reporthook/core/store";
import type { Row, Value } from "../database/driver.ts";
import { positionOf, type Queued, type QueuePosition, queuedAt, queues } from "./queues.ts";

/** The columns that work on a delivery changes, each with the value that a delivery in memory has for it. */
const encoders: Readonly<Record<string, (kept: Kept, position: QueuePosition) => Value>> = {
  state: ({ state }) => states.indexOf(state),
  queue: (_kept, { queue }) => queue,
  rank: (_kept, { rank }) => rank,
  attempts: ({ attempts }) => attempts,
  due_at: ({ dueAt }) => dueAt,
  give_way: ({ giveWay }) => (giveWay ? 1 : 0),
  verification: ({ verification }) => verification,
  type: ({ type }) => type,
  report: ({ reportId }) => reportId,
  reason: ({ reason }) => reason?.code ?? null,
  reason_message: ({ reason }) => reason?.message ?? null,
  released: ({ released }) => (released ? 1 : 0),
  memo: ({ memo }) => memo,
  last_error: ({ lastError }) => lastError,
  ended_at: ({ endedAt }, { queue }) => (queue === null ? endedAt : null),
  kept_as: (kept, { queue }) => (queue === null ? keptAsOf(kept) : null),
  history: ({ history }) => historyText(history),
  signature: ({ signature }) => signature,
};

/** The names of the columns in {@link Changes}, in their order. */
export const changedColumns: readonly string[] = Object.keys(encoders);

/** Values of {@link changedColumns}: only this file reads them by position. Names would cross to the thread with each. */
export type Changes = readonly Value[];

/** The changes that bring the file up to a delivery in memory. */
export function changesOf(kept: Kept, now: number): Changes {
  const position = positionOf(kept, now);
  return inOrder.map((encode) => encode(kept, position));
}

const inOrder = Object.values(encoders);
const [queueAt, rankAt, keptAsAt] = ["queue", "rank", "kept_as"].map((name) =>
  changedColumns.indexOf(name),
) as [number, number, number];

/** The stage that a delivery waits for after these changes; null at the end of its way. */
export function queuedAfter(changes: Changes): Queued | null {
  return queuedAt(changes[queueAt], changes[rankAt]);
}

/** Leases the delivery to a worker with these changes. */
export function leasedTo(workerId: number, stage: Stage, changes: Changes): Changes {
  const leased = [...changes];
  leased[queueAt] = queues[stage].leased;
  leased[rankAt] = workerId;
  return leased;
}

/** One of {@link keptAs}; null while the delivery waits. */
export function keptAsAfter(changes: Changes): Value {
  return changes[keptAsAt] ?? null;
}

/** The retention of a delivery at the end of its way: an index of the times in maintenance.ts. `unsigned` is held. */
export const keptAs = {
  rejected: 0,
  unsigned: 1,
  handled: 2,
  parked: 3,
  unsignedHandled: 4,
  unsignedDead: 5,
} as const;

type StoredAttempt = [
  Attempt["stage"],
  at: number,
  ms: number,
  Attempt["outcome"],
  Attempt["error"],
];

function historyText(history: Kept["history"]): string | null {
  const stored = history.map(
    ({ stage, at, ms, outcome, error }): StoredAttempt => [stage, at.getTime(), ms, outcome, error],
  );
  return stored.length === 0 ? null : JSON.stringify(stored);
}

function keptAsOf(kept: Kept): number {
  const { state } = kept;
  const unsigned = isUnsigned(kept);
  if (state === "rejected") return keptAs.rejected;
  if (state === "handled") return unsigned ? keptAs.unsignedHandled : keptAs.handled;
  if (!unsigned) return keptAs.parked;
  return state === "dead" ? keptAs.unsignedDead : keptAs.unsigned;
}

/** Headers that are stored by position, as a part of the file's format: with their names each row would be a tenth longer. */
const positional = ["content-type", "user-agent", "traceparent"];

/** The text of the column `headers`. */
export function headersText(headers: KeptHeaders): string {
  const isPositional = Object.keys(headers).every((name) => positional.includes(name));
  return JSON.stringify(isPositional ? positional.map((name) => headers[name]) : headers);
}

/** The delivery in a row. */
export function keptOf(row: Row, receiver: string): Kept {
  const text = (name: string): string | null => (row[name] ?? null) as string | null;
  const state = states[Number(row["state"])] as State;
  // Written out, in the order of newKept: then all entries are of one shape, and cost a tenth.
  return {
    id: String(row["id"]),
    place: Number(row["seq"]),
    receiver,
    receivedAt: Number(row["received_at"]),
    url: text("url") ?? "",
    context: text("context"),
    headers: headersOf(text("headers")),
    ackMs: Number(row["ack_ms"]),
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
    // Nothing, as long as it is due from its receipt on.
    dueAt: Number(row["due_at"] ?? row["received_at"]),
    giveWay: row["give_way"] === 1,
    memo: text("memo"),
    sameSignatureAs: text("same_signature_as"),
    lastError: text("last_error"),
    endedAt: Number(row["ended_at"]),
    history: historyOf(text("history")),
  };
}

function reasonOf(row: Row): Reason | null {
  const code = row["reason"] as Reason["code"] | null;
  return code === null ? null : { code, message: String(row["reason_message"]) };
}

function historyOf(json: string | null): Kept["history"] {
  const attempts = parsed(json);
  if (!Array.isArray(attempts)) return [];
  return attempts.filter(Array.isArray).map((attempt) => {
    const [stage, at, ms, outcome, error] = attempt as StoredAttempt;
    return { stage, at: new Date(at), ms, outcome, error };
  });
}

function headersOf(json: string | null): Kept["headers"] {
  const headers = parsed(json);
  if (Array.isArray(headers)) {
    const given = positional.map((name, index) => [name, headers[index]] as const);
    return Object.fromEntries(given.filter(([, value]) => typeof value === "string"));
  }
  return typeof headers === "object" && headers !== null ? (headers as Kept["headers"]) : {};
}

/** Null when somebody has written something else into the file: the rest of the row still counts. */
function parsed(json: string | null): unknown {
  try {
    return json === null ? null : JSON.parse(json);
  } catch {
    return null;
  }
}
