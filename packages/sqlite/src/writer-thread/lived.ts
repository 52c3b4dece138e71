import type { TimeMark } from "@reporthook/core";
import { laterMark, noMark } from "@reporthook/core/store";
import type { Tables } from "./deliveries.ts";

function timeMarkIn({ statement }: Tables): TimeMark {
  const { mark } = statement("SELECT mark FROM lived").get() ?? {};
  return mark === undefined ? noMark : JSON.parse(String(mark));
}

/** Milliseconds to add to lived time for people. */
export function wallOffsetIn(tables: Tables): number {
  const { wallAt, livedAt } = timeMarkIn(tables);
  return wallAt - livedAt;
}

/** Keeps a mark unless there is a later one; returns what is kept. */
export function keepTime(tables: Tables, mark: TimeMark): TimeMark {
  const kept = laterMark(timeMarkIn(tables), mark);
  const write = tables.statement("INSERT OR REPLACE INTO lived (rowid, mark) VALUES (1, ?)");
  if (mark.livedAt > 0) write.run(JSON.stringify(kept));
  return kept;
}
