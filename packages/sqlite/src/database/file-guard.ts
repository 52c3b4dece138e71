import { lstatSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import type { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import { damagedPath, isDamage, setAside } from "./damaged.ts";
import { type Database, inboxFailed } from "./driver.ts";
import type { FileContent } from "./file-content.ts";
import { lookAgain } from "./header.ts";
import type { LogContent } from "./log-content.ts";
import { isSameFile } from "./same-file.ts";

/** Milliseconds after a change of a folder during which another change may have the same time: FAT has a resolution of 2 s. */
const alikeMs = 2_500;

/** The stats of a path; undefined if nothing is there. Throws if that can't be found out. */
type StatFile = (path: string) => Stats | undefined;

// Not of what a link leads to: a restart would look for the log beside that.
const stat: StatFile = (path) => lstatSync(path, { throwIfNoEntry: false });

/** The content of the inbox file and of its log. */
export interface GuardedContent {
  readonly file: FileContent;
  readonly log: LogContent;
}

/**
 * Checks that the inbox file, its log and the index of the log are the ones that were opened, and hold what SQLite wrote. A file
 * that was moved can be put back. Damage stays: nothing is written any more, and the file is set aside for the check of a restart.
 */
export class FileGuard {
  readonly #path: string;
  readonly #content: GuardedContent | null;
  /** As of the last check that passed. */
  #file: Stats;
  readonly #beside: readonly (readonly [path: string, then: Stats])[];
  readonly #monotonic: () => number;
  readonly #stat: StatFile;
  #folder: Stats | undefined;
  #folderSince = 0;
  /** Whether the files beside it were checked after the last change of its folder became unambiguous. */
  #isSettled = false;
  #state: "there" | "moved" | "saved" = "there";
  #damage: ReporthookError | null = null;

  /** Make it after the first write, when all files exist; `monotonic` gives milliseconds. */
  constructor(
    path: string,
    content: GuardedContent | null = null,
    monotonic: () => number = () => performance.now(),
    statFile: StatFile = stat,
  ) {
    this.#path = path;
    this.#content = content;
    this.#file = lstatSync(path);
    this.#beside = [`${path}-wal`, `${path}-shm`].map((each) => [each, lstatSync(each)]);
    this.#monotonic = monotonic;
    this.#stat = statFile;
  }

  /** The damage that was found; null if there is none. */
  get damage(): ReporthookError | null {
    return this.#damage;
  }

  /**
   * Makes sure that commits go into the files that a restart would find. Checks those beside it only if their folder has changed:
   * reading the times of a log makes its next sync write them, too.
   *
   * @throws {ReporthookError} `inbox_failed` when one was deleted or replaced: SQLite would go on writing into the old one; and
   *   for good once one was damaged
   */
  check(): void {
    if (this.#damage !== null) throw this.#damage;
    // The folder first: the next check sees later changes.
    const isOld = this.#isFolderOld();
    const file = this.#checkOne(this.#path, this.#file);
    if (!this.#isSettled || this.#state !== "there") {
      const isWritten = this.#state !== "saved" && !isUnchanged(file, this.#file);
      for (const [path, then] of this.#beside) this.#checkOne(path, then, isWritten);
      this.#isSettled = isOld;
    }
    this.#assertWritten(this.#path, this.#content?.file.check(file));
    this.#state = "there";
    this.#file = file;
  }

  /** Whether all is in the file, which can be opened again, for another program has deleted its log as the last one that uses it. */
  get isLeft(): boolean {
    if (this.#state !== "saved" || !isSameFile(this.#seen(this.#path)[0], this.#file)) return false;
    return this.#content?.log.isDeleted() === true && this.#content.log.isEmpty();
  }

  /** Whether {@link check} passes. */
  isSound(): boolean {
    try {
      this.check();
      return true;
    } catch {
      return false;
    }
  }

  /** Begins a transaction. */
  begin(): void {
    this.#content?.file.begin();
  }

  /** Prepares a commit: checks as {@link check} does, and raises the mark of the file if that is due. */
  prepareCommit(): void {
    this.#content?.file.raise();
    this.check();
    const damaged = this.#content?.log.look() ?? null;
    if (damaged !== null) throw this.#latchLog(damaged);
  }

  /** Checks again after a commit; `hasWritten` if it has certainly written something. */
  checkCommitted(hasWritten: boolean): void {
    this.check();
    if (hasWritten && this.#content?.log.hasGrown() === false) throw this.#latchLog();
  }

  /** The same, with all that takes longer: twice a second. */
  checkAll(): void {
    this.check();
    this.#assertWritten(this.#path, this.#content?.file.checkHeader(this.#file.size));
    if (this.#content?.log.isWhole() === false) throw this.#latchLog();
  }

  /** Notes a checkpoint by this connection, right after it. */
  checkpointed(): void {
    const now = this.#seen(this.#path)[0];
    if (now !== undefined) this.#assertWritten(this.#path, this.#content?.file.checkpointed(now));
  }

  /** Ends the use of the log, once SQLite has closed the file. */
  close(): void {
    this.#content?.log.close();
  }

  /** Notes that a transaction has failed, and with it what was raised. */
  rolledBack(): void {
    if (this.#content !== null) this.#content.file.isDue = true;
  }

  /** Notes damage for good, and sets the file aside; returns the error of all that comes. */
  latch(problem: string): ReporthookError {
    if (this.#damage === null) {
      const isThere = isSameFile(this.#seen(this.#path)[0], this.#file);
      const damaged = isThere ? setAside(this.#path) : null;
      const where = damaged === null ? "" : `: until then it is ${damaged}`;
      this.#damage = inboxFailed(
        `${problem}: nothing is written to it any more. Restart the app, which checks it${where}. docs/operating.md says more under When the inbox fails`,
      );
    }
    return this.#damage;
  }

  /** The error to give for another one: the damage, if it is the cause. */
  explained(error: unknown): unknown {
    if (this.#content?.log.isWhole() === false) return this.#latchLog();
    if (!isDamage(error)) return error;
    // Its check may know more.
    this.isSound();
    return this.latch(`${this.#path} is damaged (${describe(error)})`);
  }

  #latchLog(end = "-wal"): ReporthookError {
    return this.latch(`${this.#path}${end} was overwritten or cut off while it was open`);
  }

  #assertWritten(path: string, problem: string | null | undefined): void {
    if (problem) throw this.latch(`${path} was ${problem} while it was open`);
  }

  /** Whether SQLite has deleted the index, then the log, with all of it in the file: only what is added meanwhile may be missing. */
  #isLogLeft(): boolean {
    const problem = lookAgain(() => (this.#content?.log.isDeleted() ? null : "there"));
    return (problem ?? this.#content?.file.check(lstatSync(this.#path))) === null;
  }

  /** Checks one of the files; `isWritten` if the inbox file was written to, and perhaps by another program. */
  #checkOne(path: string, then: Stats, isWritten = false): Stats {
    const [now, why] = this.#seen(path);
    if (now !== undefined && isSameFile(now, then)) return now;
    const isInbox = then === this.#file;
    const what = now !== undefined ? "replaced" : why === "" ? "deleted" : "out of reach";
    const isSure = what === "replaced" || (what === "deleted" && isWritten);
    const isLeft = !isInbox && now === undefined && this.#isLogLeft();
    if (isInbox) this.#checkMoved();
    else if (isSure && !isLeft) this.#assertWritten(path, what);
    if (this.#state === "there") this.#state = "moved";
    const wayOut = isInbox
      ? "put the file back. If it is gone, only this process still has its data: copy it before you end the app, as docs/operating.md says under When the inbox fails"
      : isLeft
        ? "it is opened again. If nobody deleted it by hand, something in this process has dropped SQLite's locks, as a copy of the file does"
        : "put the file back, or restart the app";
    throw inboxFailed(`${path} was ${what} while it was open${why}: ${wayOut}`);
  }

  /** Looks for damage in a file that was moved: another process may have set it aside, or it was written over before. */
  #checkMoved(): void {
    const path = this.#path;
    const damaged = damagedPath(path);
    if (damaged !== null && isSameFile(this.#seen(damaged)[0], this.#file)) {
      throw this.latch(`${path} is damaged, as another process has found`);
    }
    this.#assertWritten(path, this.#content?.file.checkHeader(1));
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
   * Writes the log of a file that was moved into it, until all is there: a reader ends a checkpoint early. So a deleted log
   * loses nothing, and one left beside another file does not overwrite it at the next start. Leaves alone what others wrote.
   */
  save(database: Database): void {
    const isSaved = this.#state === "saved" && this.#content?.log.isEmpty() !== false;
    if (this.#damage !== null || this.#state === "there" || isSaved) return;
    this.#state = "saved";
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
}

/** By both times: restoring a backup may reset one of them, but not both. And by size: a clock may be coarse. */
function isUnchanged(one: Stats | undefined, other: Stats | undefined): boolean {
  const hasSameTimes = one?.mtimeMs === other?.mtimeMs && one?.ctimeMs === other?.ctimeMs;
  return hasSameTimes && one?.size === other?.size;
}
