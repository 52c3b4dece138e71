import type { TimeMark } from "@reporthook/core";
import { laterMark, noMark } from "@reporthook/core/store";
import type { Database, Statement } from "../database/driver.ts";

/** The lived time of the file. */
export class Lived {
  readonly #read: Statement;
  readonly #write: Statement;

  constructor(database: Database) {
    this.#read = database.prepare("SELECT lived_at, wall_at, held_ms FROM lived");
    this.#write = database.prepare("INSERT OR REPLACE INTO lived VALUES (1, ?, ?, ?)");
  }

  /** Milliseconds to add to lived time for people. */
  get wallOffset(): number {
    const { wallAt, livedAt } = this.#mark;
    return wallAt - livedAt;
  }

  /** Keeps a mark unless there is a later one; returns what is kept. */
  keep(mark: TimeMark): TimeMark {
    const before = this.#mark;
    const kept = laterMark(before, mark);
    if (mark.livedAt > 0) this.#write.run(kept.livedAt, kept.wallAt, kept.heldMs);
    return kept;
  }

  get #mark(): TimeMark {
    const row = this.#read.get();
    if (row === undefined) return noMark;
    const [livedAt, wallAt] = [Number(row["lived_at"]), Number(row["wall_at"])];
    return { livedAt, wallAt, heldMs: Number(row["held_ms"]) };
  }
}
