import type { TimeMark } from "@reporthook/core";
import { laterMark, noMark } from "@reporthook/core/store";
import type { Deliveries } from "./deliveries.ts";

function timeMarkIn({ statement }: Deliveries): TimeMark {
  const { mark } = statement("SELECT mark FROM lived").get() ?? {};
  return mark === undefined ? noMark : JSON.parse(String(mark));
}

/** Milliseconds to add to lived time for people. */
export function wallOffsetIn(deliveries: Deliveries): number {
  const { wallAt, livedAt } = timeMarkIn(deliveries);
  return wallAt - livedAt;
}

/** Keeps a mark unless there is a later one; returns what is kept. */
export function keepTime(deliveries: Deliveries, mark: TimeMark): TimeMark {
  const kept = laterMark(timeMarkIn(deliveries), mark);
  const write = deliveries.statement("INSERT OR REPLACE INTO lived (rowid, mark) VALUES (1, ?)");
  if (mark.livedAt > 0) write.run(JSON.stringify(kept));
  return kept;
}
