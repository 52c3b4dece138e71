import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import type { Database } from "./driver.ts";

/** Milliseconds after a change of a folder during which another change may have the same time: FAT has a resolution of 2 s. */
const alikeMs = 2_500;

/** The stats of a path; undefined if nothing is there. Throws if that can't be found out. */
type StatFile = (path: string) => Stats | undefined;

const stat: StatFile = (path) => statSync(path, { throwIfNoEntry: false });

/** Checks that the inbox file and its log are the ones that were opened. */
export class FileGuard {
  readonly #path: string;
  readonly #wal: string;
  readonly #file: Stats;
  readonly #log: Stats;
  readonly #monotonic: () => number;
  readonly #stat: StatFile;
  #folder: Stats | undefined;
  #folderSince = 0;
  /** Whether the log was checked after the last change of its folder became unambiguous. */
  #isSettled = false;
  #state: "there" | "moved" | "emptied" | "saved" = "there";

  /** Make it after the first write, when both files exist; `monotonic` gives milliseconds. */
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
   * Makes sure that commits go into the files that a restart would find. Checks the log only if its folder has changed: reading
   * the times of a file makes the next sync write them, too.
   *
   * @throws {ReporthookError} `inbox_failed` when one was deleted or replaced: SQLite would go on writing into the old one
   */
  check(): void {
    // The folder first: the next check sees later changes.
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

  /** Whether the next change of the folder would have another time than the last one. */
  #isFolderOld(): boolean {
    const [now] = this.#seen(dirname(this.#path));
    if (!isSameFile(now, this.#folder) || !isUnchanged(now, this.#folder)) {
      this.#folder = now;
      this.#folderSince = this.#monotonic();
      this.#isSettled = false;
    }
    return this.#monotonic() - this.#folderSince > alikeMs;
  }

  /** The stats of a path, or the reason for having none: a restart could not use an inaccessible file either. */
  #seen(path: string): readonly [seen: Stats | undefined, why: string] {
    try {
      return [this.#stat(path), ""];
    } catch (error) {
      return [undefined, ` (${describe(error)})`];
    }
  }

  /**
   * After a file was moved: writes the log into its file, at its new place. Then a deleted log loses nothing, and a log left
   * beside another file does not overwrite it at the next start.
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

/** By both times: restoring a backup may reset one of them, but not both. */
function isUnchanged(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.mtimeMs === other?.mtimeMs && one?.ctimeMs === other?.ctimeMs;
}
