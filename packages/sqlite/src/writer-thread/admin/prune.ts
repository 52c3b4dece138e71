import type { Pruned } from "@reporthook/core";
import { dayMs, noticeMsOf, PruneCount, type Retention } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import type { Operations } from "../../protocol/operations.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import { reasonOf, retentionClass, stateOf } from "../../protocol/row.ts";
import { type Deliveries, removedColumns, type Tables } from "../deliveries.ts";
import type { RequestTable } from "../request-table.ts";

const select = `SELECT ${removedColumns}, arrived_at FROM delivery WHERE kept_as`;

/** One step of pruning: deletes deliveries whose retention is over, and announces the end of parked ones. */
export function pruneStep(
  deliveries: Deliveries,
  requests: RequestTable,
  retention: Retention,
  now: number,
): ReturnType<Operations["prune"]> {
  const { statement } = deliveries.tables;
  const pruned = new PruneCount(retention);
  const moments = momentsOf(retention, now);
  let left = rowsPerStep;
  const each = (rows: readonly Row[], change: (row: Row) => void): void => {
    for (const row of rows) change(row);
    left -= rows.length;
  };
  const over = statement(`${select} = ? AND changed_at < ? ORDER BY changed_at LIMIT ?`);
  for (const [stored, before] of moments.endedBefore) {
    each(over.all(stored, before, left), (row) => {
      // Copies of it may still come, as duplicates.
      const keepsKey = stored === retentionClass.handled && now - Number(row["arrived_at"]) < dayMs;
      deliveries.remove(row, keepsKey);
      pruned.delete(countedOf(row), false);
    });
  }
  const overAnnounced = statement(
    `${select} = ${retentionClass.announced} AND changed_at < ? AND announced_at <= ? ORDER BY changed_at LIMIT ?`,
  );
  each(overAnnounced.all(moments.parkedBefore, moments.announcedBefore, left), (row) => {
    deliveries.remove(row);
    pruned.delete(countedOf(row), true);
  });
  const announce = statement(
    `UPDATE delivery SET kept_as = ${retentionClass.announced}, announced_at = ? WHERE seq = ?`,
  );
  each(over.all(retentionClass.parked, moments.announceBefore, left), (row) => {
    announce.run(now, Number(row["seq"]));
    pruned.announce(countedOf(row));
  });
  left -= requests.prune(retention, now, Math.max(0, left));
  const deleteKeys = statement(
    `DELETE FROM delivery WHERE seq IN (SELECT seq FROM delivery
       WHERE kept_as = ${retentionClass.keyOnly} AND changed_at <= ? LIMIT ${rowsPerStep})`,
  );
  left -= Number(deleteKeys.run(now - dayMs).changes);
  return { pruned, more: left <= 0 };
}

/** Counts what all steps of pruning would do. */
export function foreseePruning({ statement }: Tables, retention: Retention, now: number): Pruned {
  const countByReason = statement(
    "SELECT state, reason, count(*) AS number FROM delivery WHERE kept_as = ? AND changed_at < ? AND ifnull(announced_at, 0) <= ? GROUP BY state, reason",
  );
  const pruned = new PruneCount(retention);
  const moments = momentsOf(retention, now);
  for (const row of moments.endedBefore.flatMap((moment) => countByReason.all(...moment, now))) {
    pruned.delete(countedOf(row), false, Number(row["number"]));
  }
  const { announced, parked } = retentionClass;
  for (const row of countByReason.all(announced, moments.parkedBefore, moments.announcedBefore)) {
    pruned.delete(countedOf(row), true, Number(row["number"]));
  }
  for (const row of countByReason.all(parked, moments.announceBefore, now)) {
    pruned.announce(countedOf(row), Number(row["number"]));
  }
  return pruned;
}

/** The moments before which deliveries must have changed, or been announced, for the next step of retention. */
function momentsOf(retention: Retention, now: number) {
  const { handledMs, parkedMs } = retention;
  const { rejected, wholeRejected, unsigned, handled, unsignedHandled, unsignedDead } =
    retentionClass;
  const noticeMs = noticeMsOf(retention);
  const yesterday = now - dayMs;
  return {
    /** Deleted without an announcement: class, moment. */
    endedBefore: [
      [rejected, yesterday],
      [wholeRejected, yesterday],
      [unsigned, yesterday],
      [handled, now - handledMs],
      [unsignedHandled, yesterday],
      [unsignedDead, yesterday],
    ] as const,
    parkedBefore: now - parkedMs,
    announceBefore: now - parkedMs + noticeMs,
    announcedBefore: now - noticeMs,
  };
}

/** The parts of a row by which it is counted. */
function countedOf(row: Row): Parameters<PruneCount["announce"]>[0] {
  return { state: stateOf(row), reason: reasonOf(row) };
}
