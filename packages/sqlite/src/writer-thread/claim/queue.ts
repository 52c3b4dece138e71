import { signatureLifetimeMs } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import { queues } from "../../protocol/position.ts";
import type { ConsumerState } from "../../protocol/protocol.ts";
import type { Deliveries } from "../deliveries.ts";

const promotedAtOnce = 500;
/** Milliseconds in which a process that begins asks about what waits. */
const hastenedMs = 10_000;

/**
 * The numbers of the next deliveries for a consumer, at most `limit`, in their order. Order of verification: first the newest ones
 * whose signatures may be valid, then deprioritized ones by their last turn, then older ones. Order of handling: by due time.
 */
export function nextInQueue(
  { statement, receivers }: Deliveries,
  { receiver: name, stage, now, knownSince }: ConsumerState,
  limit: number,
): readonly number[] {
  const receiver = receivers.idOf(name);
  const inOrder = statement(
    "SELECT seq, rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT ?",
  );
  if (stage === "handle") return seqs(inOrder.all(receiver, queues.handle.first, limit));
  const { first, inTurn } = queues.verify;
  const newest = statement(
    "SELECT seq, rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank DESC, seq LIMIT ?",
  );
  const rows = newest.all(receiver, first, limit);
  const isPast = (row: Row): boolean =>
    now - Math.max(Number(row["rank"]), knownSince) >= signatureLifetimeMs;
  const young = rows.filter((row) => !isPast(row));
  if (young.length === limit) return seqs(young);
  const polite = inOrder.all(receiver, inTurn, limit - young.length);
  return seqs([...young, ...polite, ...rows.filter(isPast)].slice(0, limit));
}

/** Moves deliveries that have come due to the front queue; returns the next due time, Infinity if none waits for one. */
export function promote(
  deliveries: Deliveries,
  { receiver: name, stage, now }: ConsumerState,
): number {
  const { statement, receivers } = deliveries;
  const receiver = receivers.idOf(name);
  const { later, first } = queues[stage];
  const firstDue = statement(
    "SELECT rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT 1",
  );
  const firstDueAt = (): number => Number(firstDue.get(receiver, later)?.["rank"] ?? Infinity);
  const dueAt = firstDueAt();
  if (dueAt > now) return dueAt;
  statement(
    `UPDATE delivery SET queue = ? + (state = 0 AND last_turn_at IS NOT NULL), rank = CASE state WHEN 0 THEN coalesce(last_turn_at, arrived_at) ELSE due_at END
     WHERE seq IN (SELECT seq FROM delivery WHERE receiver = ? AND queue = ? AND rank <= ? ORDER BY rank LIMIT ${promotedAtOnce})`,
  ).run(first, receiver, later, now);
  return firstDueAt();
}

/** Has what waits come due soon: nobody knows how much of its delay has passed between two processes. */
export function hasten(
  { statement, receivers }: Deliveries,
  { receiver, stage, now }: ConsumerState,
): void {
  const at = now + hastenedMs;
  statement(
    "UPDATE delivery SET rank = ?, due_at = ? WHERE receiver = ? AND queue = ? AND rank > ?",
  ).run(at, at, receivers.idOf(receiver), queues[stage].later, at);
}

function seqs(rows: readonly Row[]): number[] {
  return rows.map(({ seq }) => Number(seq));
}
