import type { TimeMark } from "@reporthook/core";
import { laterMark, noMark } from "@reporthook/core/store";
import type { Database, Statement } from "../database/driver.ts";

/** The lived time of the file. */
export class Lived {
  readonly #read: Statement;
  readonly #write: Statement;

  constructor(database: Database) {
    this.#read = database.prepare(
      `SELECT lived_at AS livedAt, wall_at AS wallAt, furthest_at AS furthestAt,
         unseen_ms AS unseenMs, held_ms AS heldMs FROM lived`,
    );
    this.#write = database.prepare("INSERT OR REPLACE INTO lived VALUES (1, ?, ?, ?, ?, ?)");
  }

  /** Milliseconds to add to lived time for people. */
  get wallOffset(): number {
    const { wallAt, livedAt } = this.#mark;
    return wallAt - livedAt;
  }

  /** Keeps a mark unless there is a later one; returns what is kept. */
  keep(mark: TimeMark): TimeMark {
    const kept = laterMark(this.#mark, mark);
    const { livedAt, wallAt, furthestAt, unseenMs, heldMs } = kept;
    if (mark.livedAt > 0) this.#write.run(livedAt, wallAt, furthestAt, unseenMs, heldMs);
    return kept;
  }

  get #mark(): TimeMark {
    return (this.#read.get() as TimeMark | undefined) ?? noMark;
  }
}
