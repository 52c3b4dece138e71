import type { TimeMark } from "@reporthook/core";
import { laterMark, noMark } from "@reporthook/core/store";
import type { Tables } from "./deliveries.ts";

function timeMarkIn({ statement }: Tables): TimeMark {
  const read = statement(
    `SELECT lived_at AS livedAt, wall_at AS wallAt, furthest_at AS furthestAt,
       unseen_ms AS unseenMs, held_ms AS heldMs FROM lived`,
  );
  return (read.get() as TimeMark | undefined) ?? noMark;
}

/** Milliseconds to add to lived time for people. */
export function wallOffsetIn(tables: Tables): number {
  const { wallAt, livedAt } = timeMarkIn(tables);
  return wallAt - livedAt;
}

/** Keeps a mark unless there is a later one; returns what is kept. */
export function keepTime(tables: Tables, mark: TimeMark): TimeMark {
  const kept = laterMark(timeMarkIn(tables), mark);
  const { livedAt, wallAt, furthestAt, unseenMs, heldMs } = kept;
  const write = tables.statement("INSERT OR REPLACE INTO lived VALUES (1, ?, ?, ?, ?, ?)");
  if (mark.livedAt > 0) write.run(livedAt, wallAt, furthestAt, unseenMs, heldMs);
  return kept;
}
