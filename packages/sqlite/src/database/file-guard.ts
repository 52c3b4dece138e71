import { lstatSync, readFileSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import type { Database } from "./driver.ts";

/** Milliseconds after a change of a folder during which another change may have the same time: FAT has a resolution of 2 s. */
const alikeMs = 2_500;

/** The stats of a path; undefined if nothing is there. Throws if that can't be found out. */
type StatFile = (path: string) => Stats | undefined;

// Not of what a link leads to: a restart would look for the log beside that.
const stat: StatFile = (path) => lstatSync(path, { throwIfNoEntry: false });

/** Checks that the inbox file, its log and the index of the log are the ones that were opened. */
export class FileGuard {
  readonly #path: string;
  /** As of the last check that passed. */
  #file: Stats;
  readonly #beside: readonly (readonly [path: string, then: Stats])[];
  readonly #monotonic: () => number;
  readonly #stat: StatFile;
  #folder: Stats | undefined;
  #folderSince = 0;
  /** Whether the files beside it were checked after the last change of its folder became unambiguous. */
  #isSettled = false;
  #state: "there" | "moved" | "foreign" | "saved" = "there";

  /** Make it after the first write, when all files exist; `monotonic` gives milliseconds. */
  constructor(
    path: string,
    monotonic: () => number = () => performance.now(),
    statFile: StatFile = stat,
  ) {
    this.#path = path;
    this.#file = lstatSync(path);
    this.#beside = [`${path}-wal`, `${path}-shm`].map((each) => [each, lstatSync(each)]);
    this.#monotonic = monotonic;
    this.#stat = statFile;
  }

  /**
   * Makes sure that commits go into the files that a restart would find. Checks those beside it only if their folder has changed:
   * reading the times of a log makes its next sync write them, too.
   *
   * @throws {ReporthookError} `inbox_failed` when one was deleted or replaced: SQLite would go on writing into the old one
   */
  check(): void {
    // The folder first: the next check sees later changes.
    const isOld = this.#isFolderOld();
    const file = this.#checkOne(this.#path, this.#file);
    if (!this.#isSettled || this.#state !== "there") {
      const isWritten = this.#state !== "saved" && !isUnchanged(file, this.#file);
      for (const [path, then] of this.#beside) this.#checkOne(path, then, isWritten);
      this.#isSettled = isOld;
    }
    this.#state = "there";
    this.#file = file;
  }

  /** Checks one of the files; `isWritten` if the inbox file was written to, and perhaps by another program. */
  #checkOne(path: string, then: Stats, isWritten = false): Stats {
    const [now, why] = this.#seen(path);
    const isSame = isSameFile(now, then);
    // SQLite drops the log of an empty file when it opens it.
    const isEmptied = isSame && now?.size === 0 && then === this.#file;
    if (now !== undefined && isSame && !isEmptied) return now;
    const isForeign = then !== this.#file && (now !== undefined || isWritten);
    if (isEmptied || isForeign) this.#state = "foreign";
    else if (this.#state === "there") this.#state = "moved";
    const what = isSame ? "emptied" : now === undefined ? "deleted" : "replaced";
    const wayOut = isForeign
      ? `stopping the app may overwrite what others have written since. Copy ${this.#path} and ${this.#path}-wal away, then end the app with SIGKILL`
      : then === this.#file
        ? "put the file back. If it is gone, only this process still has its data: copy it before you end the app, as docs/operating.md says under When the inbox fails"
        : "put the file back, or restart the app";
    throw inboxFailed(`${path} was ${what} while it was open${why}: ${wayOut}`);
  }

  /** Whether the next change of the folder would have another time than the last one. */
  #isFolderOld(): boolean {
    // The dot: a link to a folder is as good as the folder.
    const [now] = this.#seen(`${dirname(this.#path)}/.`);
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
   * beside another file does not overwrite it at the next start. Leaves alone what others may have written.
   */
  save(database: Database): void {
    if (this.#state !== "moved") return;
    this.#state = "saved";
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
}

/**
 * Checks, before SQLite opens it, that the log will be kept where a restart and every other process look for it.
 *
 * @throws {ReporthookError} `inbox_failed` when the file has several names, or was mounted without its folder
 */
export function checkPlace(path: string): void {
  let file: Stats;
  let folder: Stats;
  try {
    [file, folder] = [lstatSync(path), lstatSync(dirname(path))];
  } catch {
    // SQLite will report it.
    return;
  }
  if (!file.isFile()) return;
  if (file.nlink > 1) {
    throw inboxFailed(
      `${path} has ${file.nlink} names (hard links), each with a log of its own: delete the others, which this lists: find / -xdev -samefile ${path}`,
    );
  }
  // On overlayfs alone, other files than mounted ones may be of another device than their folder.
  if (file.dev !== folder.dev && isMounted(path) && !isMounted(`${path}-wal`)) {
    throw inboxFailed(
      `${path} is mounted without its log, ${path}-wal, which would be lost with the container: mount its folder instead`,
    );
  }
}

/** Whether Linux lists it as mounted, where spaces and the like are octal. */
function isMounted(path: string): boolean {
  const octal = (each: string): string => `\\${each.charCodeAt(0).toString(8).padStart(3, "0")}`;
  const name = path.replaceAll(/[ \t\n\\]/g, octal);
  try {
    const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return lines.some((line) => line.split(" ")[4] === name);
  } catch {
    return false;
  }
}

function inboxFailed(message: string): ReporthookError {
  return new ReporthookError("inbox_failed", message);
}

function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** By both times: restoring a backup may reset one of them, but not both. And by size: a clock may be coarse. */
function isUnchanged(one: Stats | undefined, other: Stats | undefined): boolean {
  const hasSameTimes = one?.mtimeMs === other?.mtimeMs && one?.ctimeMs === other?.ctimeMs;
  return hasSameTimes && one?.size === other?.size;
}
