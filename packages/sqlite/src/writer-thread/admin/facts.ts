import type { Facts, ParkedFact, State } from "@reporthook/core";
import {
  comparedErrors,
  expiringOf,
  mostFrequent,
  parkedReasons,
  type Retention,
  states,
} from "@reporthook/core/store";
import { byReason, countsIn, newestName, type Tally } from "../../protocol/counts.ts";
import { queues } from "../../protocol/position.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import { findRows } from "./rows.ts";

const maxCounted = 10_000;
/** The queues with deliveries whose handlers have failed, those first that have few others. */
const searched = [queues.handle.later, queues.handle.leased, queues.handle.first];

/** The facts of a receiver: numbers that are counted as they change, and steps in an index. */
export function storedFacts(
  deliveries: Deliveries,
  retention: () => Retention,
  name: string,
): Facts {
  const [receiver = 0] = deliveries.receivers.select(name);
  const tally = deliveries.receivers.tallyOf(name);
  const oldest = (...chosen: State[]): number | null => {
    const wanted = { query: { receiver: name }, most: 1, columns: "id, arrived_at" };
    // Each for itself: ids follow the date, which may have been set back.
    const rows = chosen.flatMap((one) => findRows(deliveries, { ...wanted, states: [one] }).rows);
    return rows.length === 0 ? null : Math.min(...rows.map((row) => Number(row["arrived_at"])));
  };
  const failing = tally["failing"] ?? 0;
  return {
    counts: countsIn(tally, states),
    newest: tally[newestName] || null,
    oldestUnverified: oldest("received"),
    oldestWaiting: oldest("received", "verified"),
    parked: parkedOf(deliveries, receiver, tally),
    deleted: byReason(tally, "deleted"),
    expiring: expiring(deliveries, receiver, retention),
    failing: failing === 0 ? null : { count: failing, error: frequentError(deliveries, receiver) },
  };
}

function parkedOf({ statement }: Deliveries, receiver: number, tally: Tally): ParkedFact[] {
  const first = statement(
    `SELECT ifnull(changed_at, arrived_at) AS at FROM delivery INDEXED BY delivery_reason
     WHERE receiver = ? AND reason = ? AND kept_as <> ${retentionClass.rejected} ORDER BY id LIMIT 1`,
  );
  const counts = byReason(tally, "parked");
  return parkedReasons.flatMap((reason) => {
    const count = counts[reason] ?? 0;
    const since = count > 0 ? first.get(receiver, reason)?.["at"] : undefined;
    return since === undefined ? [] : [{ reason, count, since: Number(since) }];
  });
}

function expiring(
  { statement }: Deliveries,
  receiver: number,
  retention: () => Retention,
): Facts["expiring"] {
  const announced = statement(
    `SELECT count(*) AS number, min(changed_at) AS changedAt, min(announced_at) AS announcedAt
     FROM (SELECT receiver, changed_at, announced_at FROM delivery INDEXED BY delivery_ended
       WHERE kept_as = ${retentionClass.announced} ORDER BY changed_at LIMIT ${maxCounted}) WHERE receiver = ?`,
  );
  const { number, changedAt, announcedAt } = announced.get(receiver) ?? {};
  if (!number) return null;
  const first = { changedAt: Number(changedAt), announcedAt: Number(announcedAt) };
  return expiringOf(Number(number), first, retention());
}

function frequentError({ statement }: Deliveries, receiver: number): string | null {
  const find = statement(
    `SELECT last_error FROM (SELECT attempts, last_error FROM delivery INDEXED BY delivery_queue
       WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT ${maxCounted / 10}) WHERE attempts > 0 LIMIT ?`,
  );
  const errors: string[] = [];
  for (const queue of searched) {
    const rows = find.all(receiver, queue, comparedErrors - errors.length);
    errors.push(...rows.map(({ last_error: error }) => String(error ?? "")));
  }
  return mostFrequent(errors);
}
