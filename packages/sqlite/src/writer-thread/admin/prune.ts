import type { Pruned } from "@reporthook/core";
import { dayMs, noticeMsOf, PruneCount, type Retention } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import type { Operations } from "../../protocol/operations.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import { reasonOf, retentionClass, stateOf } from "../../protocol/row.ts";
import { type Deliveries, removedColumns } from "../deliveries.ts";
import type { RequestTable } from "../request-table.ts";

const { announced, handled, parked } = retentionClass;
const isOver = "kept_as = ? AND changed_at < ? AND ifnull(announced_at, 0) <= ?";

/** One step of pruning: deletes deliveries whose retention is over, and announces the end of parked ones. */
export function pruneStep(
  deliveries: Deliveries,
  requests: RequestTable,
  retention: Retention,
  now: number,
): ReturnType<Operations["prune"]> {
  const { statement } = deliveries;
  const pruned = new PruneCount(retention);
  let left = rowsPerStep;
  const over = statement(
    `SELECT ${removedColumns}, arrived_at FROM delivery WHERE ${isOver} ORDER BY changed_at LIMIT ?`,
  );
  const announce = statement(
    `UPDATE delivery SET kept_as = ${announced}, announced_at = ? WHERE seq = ?`,
  );
  for (const [stored, ...before] of endsOf(retention, now)) {
    const rows = over.all(stored, ...before, left);
    for (const row of rows) {
      count(pruned, stored, row, 1);
      // Copies of it may still come, as duplicates.
      const keepsKey = stored === handled && now - Number(row["arrived_at"]) < dayMs;
      if (stored === parked) announce.run(now, Number(row["seq"]));
      else deliveries.remove(row, keepsKey);
    }
    left -= rows.length;
  }
  left -= requests.prune(retention, now, Math.max(0, left));
  const deleteKeys = statement(
    `DELETE FROM delivery WHERE seq IN (SELECT seq FROM delivery
       WHERE kept_as = ${retentionClass.keyOnly} AND changed_at <= ? LIMIT ${rowsPerStep})`,
  );
  left -= Number(deleteKeys.run(now - dayMs).changes);
  return { pruned, next: left <= 0 ? true : null };
}

/** Counts what all steps of pruning would do. */
export function foreseePruning(
  { statement }: Deliveries,
  retention: Retention,
  now: number,
): Pruned {
  const countByReason = statement(
    `SELECT state, reason, count(*) AS number FROM delivery WHERE ${isOver} GROUP BY state, reason`,
  );
  const pruned = new PruneCount(retention);
  for (const end of endsOf(retention, now)) {
    for (const row of countByReason.all(...end)) count(pruned, end[0], row, Number(row["number"]));
  }
  return pruned;
}

/** The next steps of retention: the class, and the moments before which its deliveries have changed and were announced. */
function endsOf(
  retention: Retention,
  now: number,
): (readonly [stored: number, changed: number, announced: number])[] {
  const { rejected, wholeRejected, unsigned, unsignedHandled, unsignedDead } = retentionClass;
  const { handledMs, parkedMs } = retention;
  const noticeMs = noticeMsOf(retention);
  const ofADay = [rejected, wholeRejected, unsigned, unsignedHandled, unsignedDead];
  return [
    ...ofADay.map((stored) => [stored, now - dayMs, now] as const),
    [handled, now - handledMs, now],
    [announced, now - parkedMs, now - noticeMs],
    [parked, now - parkedMs + noticeMs, now],
  ];
}

/** Counts deliveries like this one: parked ones are announced, all others deleted. */
function count(pruned: PruneCount, stored: number, row: Row, number: number): void {
  const counted = { state: stateOf(row), reason: reasonOf(row) };
  if (stored === parked) pruned.announce(counted, number);
  else pruned.delete(counted, stored === announced, number);
}
