import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { processKeys } from "@reporthook/core/store";
import { type Database, type Driver, inboxFailed } from "./driver.ts";

/**
 * Copies a database at one moment into a new file, while others go on writing into it. Only its owner may read the copy, which
 * has its content once it is whole and on the disk.
 *
 * @throws TypeError for what is no path
 * @throws ReporthookError `inbox_failed` when the file exists and may not be overwritten, is one of the database itself, or
 * can't be written
 */
export function copyDatabase(driver: Driver, path: string, file: string, overwrite: boolean): void {
  if (typeof file !== "string" || /^(file:|\w+:\/\/|:memory:|$)/i.test(file)) {
    throw new TypeError("backup takes the path of a file, like backup.db, and no URL");
  }
  const exists = `${file} exists: name another file, or replace it with the option overwrite (--overwrite)`;
  // SQLite may take another name for a URL.
  const part = resolve(`${file}.part-${process.pid}`);
  try {
    if (isOwn(path, file)) {
      throw inboxFailed(`${file} is a file of the inbox itself: name another file`);
    }
    if (!overwrite && existsSync(file)) throw inboxFailed(exists);
    for (const log of [`${file}-wal`, `${file}-journal`]) {
      if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) continue;
      throw inboxFailed(
        `${log} is there, which SQLite would take for a part of the copy: delete it, or name another file`,
      );
    }
    closeSync(openSync(part, "wx", 0o600));
    const database = driver.open(path);
    try {
      // As in the inbox: text that moves within the copy leaves no trace at its old place.
      database.exec("PRAGMA busy_timeout = 3000; PRAGMA secure_delete = ON");
      // Into an empty file, whose rights stay. A prepared statement would keep the database open until it is collected.
      database.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`);
    } finally {
      database.close();
    }
    endProcesses(driver.open(part));
    const descriptor = openSync(part, "r+");
    fsyncSync(descriptor);
    closeSync(descriptor);
    // Fails where another file has appeared meanwhile. So would a link, which not every file system has: a network's, a stick's.
    if (!overwrite) closeSync(openSync(file, "wx", 0o600));
    try {
      renameSync(part, file);
    } catch (error) {
      if (!overwrite) rmSync(file, { force: true });
      throw error;
    }
  } catch (error) {
    if (error instanceof ReporthookError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw inboxFailed(exists);
    throw inboxFailed(`${path} can't be copied to ${file}: ${message}`, error);
  } finally {
    rmSync(part, { force: true });
  }
}

/** Has every process count as ended in a copy, on which none of them works, and closes it: they would count as silent there. */
function endProcesses(copy: Database): void {
  try {
    copy.exec(
      `PRAGMA secure_delete = ON; UPDATE note SET text = json_set(text, '$.hasEnded', json('true')) WHERE key GLOB '${processKeys}*' AND json_valid(text)`,
    );
  } finally {
    copy.close();
  }
}

/** Whether SQLite reads or writes a file for a database, under any of its names. */
function isOwn(path: string, file: string): boolean {
  const identity = identityOf(file);
  return ["", "-wal", "-shm", "-journal"].some((end) => identityOf(path + end) === identity);
}

/** The same for all names of a file; its path if it does not exist. */
function identityOf(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats !== undefined) return `${stats.dev} ${stats.ino}`;
  return join(realpathSync(dirname(file)), basename(file));
}
