import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import type { Database } from "./driver.ts";

/** For so long after a change of a folder (milliseconds) another one may bear the same time: FAT counts in 2 s. */
const alikeMs = 2_500;

/** The stats of a path; undefined when there is nothing. Throws when that can't be told. */
type StatFile = (path: string) => Stats | undefined;

const stat: StatFile = (path) => statSync(path, { throwIfNoEntry: false });

/** The inbox file and the log beside it, as they were when they were opened. */
export class FileGuard {
  readonly #path: string;
  readonly #wal: string;
  readonly #file: Stats;
  readonly #log: Stats;
  readonly #monotonic: () => number;
  readonly #stat: StatFile;
  #folder: Stats | undefined;
  #folderSince = 0;
  /** Whether the log was looked at since a change of its folder could bear the time of the one before. */
  #isSettled = false;
  #state: "there" | "moved" | "emptied" | "saved" = "there";

  /** To be made after the first write, when both are there; `monotonic` gives milliseconds. */
  constructor(
    path: string,
    monotonic: () => number = () => performance.now(),
    statFile: StatFile = stat,
  ) {
    this.#path = path;
    this.#wal = `${path}-wal`;
    this.#file = statSync(path);
    this.#log = statSync(this.#wal);
    this.#monotonic = monotonic;
    this.#stat = statFile;
  }

  /**
   * Makes sure that what is committed goes into the files that a restart would find. The log is looked at only when its folder
   * has changed: whoever asks for the times of a file that is written makes the next sync write those as well.
   *
   * @throws {ReporthookError} `inbox_failed` when one was deleted or replaced: SQLite would go on writing into the old one
   */
  check(): void {
    // The folder first: what is changed after this line shows at the next check.
    const isOld = this.#isFolderOld();
    this.#checkOne(this.#path, this.#file);
    if (!this.#isSettled || this.#state !== "there") {
      this.#checkOne(this.#wal, this.#log);
      this.#isSettled = isOld;
    }
    this.#state = "there";
  }

  #checkOne(path: string, then: Stats): void {
    const [now, why] = this.#seen(path);
    const isSame = isSameFile(now, then);
    // SQLite drops the log of an empty file when it opens it.
    const isEmptied = isSame && now?.size === 0 && then === this.#file;
    if (isSame && !isEmptied) return;
    if (isEmptied) this.#state = "emptied";
    else if (this.#state === "there") this.#state = "moved";
    const what = isSame ? "emptied" : now === undefined ? "deleted" : "replaced";
    throw new ReporthookError(
      "inbox_failed",
      `${path} was ${what} while it was open${why}: put the file back, or restart the app to begin with what is there now`,
    );
  }

  /** Whether the last change of the folder was so long ago that another one would bear another time. */
  #isFolderOld(): boolean {
    const [now] = this.#seen(dirname(this.#path));
    if (!isSameFile(now, this.#folder) || !isUnchanged(now, this.#folder)) {
      this.#folder = now;
      this.#folderSince = this.#monotonic();
      this.#isSettled = false;
    }
    return this.#monotonic() - this.#folderSince > alikeMs;
  }

  /** The stats of a path, or why there are none: a file that can't be looked at is not there for a restart either. */
  #seen(path: string): readonly [seen: Stats | undefined, why: string] {
    try {
      return [this.#stat(path), ""];
    } catch (error) {
      return [undefined, ` (${describe(error)})`];
    }
  }

  /**
   * Once one was moved: brings what is in the log into the file it belongs to, wherever that is now. A deleted log takes
   * nothing with it then, and one that is left beside another file does not overwrite it at the next start.
   */
  save(database: Database): void {
    if (this.#state !== "moved") return;
    this.#state = "saved";
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
}

function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** By both times: whoever restores a backup may set the one back, but not the other. */
function isUnchanged(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.mtimeMs === other?.mtimeMs && one?.ctimeMs === other?.ctimeMs;
}
