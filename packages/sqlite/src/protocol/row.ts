import type { Attempt, Entry, KeptHeaders, Reason, State, Verification } from "@reporthook/core";
import { isUnsigned, type Kept, states } from "@reporthook/core/store";
import type { Row, Value } from "../database/driver.ts";
import { placeOf } from "./queues.ts";

/** The columns that work on a delivery changes, in the order of {@link changesOf}. */
export const changing: readonly string[] = [
  ...["state", "queue", "rank", "attempts", "due_at", "give_way", "verification", "type"],
  ...["report", "reason", "reason_message", "released", "memo", "last_error", "ended_at"],
  ...["kept_as", "history", "signature"],
];

/** How long it is kept at the end of its way: an index of the times in prune. `unsigned` is held. */
export const keptAs = {
  rejected: 0,
  unsigned: 1,
  handled: 2,
  parked: 3,
  unsignedHandled: 4,
  unsignedDead: 5,
} as const;

const keptAsAt = changing.indexOf("kept_as");

/** As what {@link changesOf} says that it is kept; null while it waits. */
export function keptAsIn(changes: readonly Value[]): Value {
  return changes[keptAsAt] ?? null;
}

/** What work has made of a delivery, as values of the columns {@link changing}. */
export function changesOf(kept: Kept, now: number): Value[] {
  const { state, reason, history } = kept;
  const { queue, rank } = placeOf(kept, now);
  const ended = queue === null;
  return [
    states.indexOf(state),
    queue,
    rank,
    kept.attempts,
    kept.dueAt,
    kept.giveWay ? 1 : 0,
    kept.verification,
    kept.type,
    kept.reportId,
    reason?.code ?? null,
    reason?.message ?? null,
    kept.released ? 1 : 0,
    kept.memo,
    kept.lastError,
    ended ? kept.endedAt : null,
    ended ? keptAsOf(kept) : null,
    history.length === 0 ? null : JSON.stringify(history.map(storedAttempt)),
    kept.signature,
  ];
}

type StoredAttempt = [
  Attempt["stage"],
  at: number,
  ms: number,
  Attempt["outcome"],
  Attempt["error"],
];

function storedAttempt({ stage, at, ms, outcome, error }: Attempt): StoredAttempt {
  return [stage, at.getTime(), ms, outcome, error];
}

function keptAsOf(kept: Kept): number {
  const { state } = kept;
  const unsigned = isUnsigned(kept);
  if (state === "rejected") return keptAs.rejected;
  if (state === "handled") return unsigned ? keptAs.unsignedHandled : keptAs.handled;
  if (!unsigned) return keptAs.parked;
  return state === "dead" ? keptAs.unsignedDead : keptAs.unsigned;
}

/** Headers that are stored by their places, as a part of the file's format: with the names each row would be a tenth longer. */
const placed = ["content-type", "user-agent", "traceparent"];

/** What the column `headers` says. */
export function textOf(headers: KeptHeaders): string {
  const isPlaced = Object.keys(headers).every((name) => placed.includes(name));
  return JSON.stringify(isPlaced ? placed.map((name) => headers[name]) : headers);
}

/** A row as it is kept in memory while it is worked on. */
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
    const given = placed.map((name, index) => [name, headers[index]] as const);
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
