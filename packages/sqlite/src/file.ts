import { type Stats, statSync } from "node:fs";
import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import { sqliteCode } from "./driver.ts";

/** The inbox file and the log beside it, as they were when they were opened. */
export class OpenFile {
  readonly #path: string;
  readonly #wal: string;
  readonly #file: Stats;
  readonly #log: Stats;

  /** To be made after the first write, when both are there. */
  constructor(path: string) {
    this.#path = path;
    this.#wal = `${path}-wal`;
    this.#file = statSync(path);
    this.#log = statSync(this.#wal);
  }

  /**
   * Makes sure that what was just committed is in the files that a restart would find.
   *
   * @throws {ReporthookError} `inbox_failed` when one was deleted or replaced: SQLite would go on writing into the old one
   */
  check(): void {
    for (const [path, then] of [
      [this.#path, this.#file],
      [this.#wal, this.#log],
    ] as const) {
      const now = statSync(path, { throwIfNoEntry: false });
      if (now?.ino === then.ino && now.dev === then.dev) continue;
      const what = now === undefined ? "deleted" : "replaced";
      throw new ReporthookError(
        "inbox_failed",
        `${path} was ${what} while it was open: put the file back, or restart the app to begin with what is there now`,
      );
    }
  }
}

const wayOut: Readonly<Record<number, string>> = {
  5: "another process holds the file for too long: look for a long transaction, or a backup that locks it",
  8: "the file or its folder can't be written: give the app the right to",
  10: "the disk fails or is full: free space, or look at the system's log",
  11: "the file is damaged: stop the app, keep a copy, restore a backup or recover it with sqlite3's .recover",
  13: "the disk is full: free space",
  14: "the folder is not there or can't be read: create it, or name another path",
  26: "the file is no SQLite database: name another path",
};

/** What to tell of a failure: SQLite's own words, and the way out. */
export function explain(error: unknown, path: string): ReporthookError {
  if (error instanceof ReporthookError) return error;
  const way = wayOut[sqliteCode(error) ?? -1];
  const because = way === undefined ? "" : `: ${way}`;
  return new ReporthookError("inbox_failed", `${path}${because} (${describe(error)})`, {
    cause: error,
  });
}
