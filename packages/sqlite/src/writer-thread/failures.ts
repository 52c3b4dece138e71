import { accessSync, constants, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import { sqliteCode } from "../database/result-code.ts";
import type { ThreadFailure } from "../protocol/protocol.ts";

const unwritable =
  "the file or its folder can't be written: give the app the right to, and run commands as its user";

/** Below it a commit may find no room. */
const leastRoomBytes = 65_536;

const diskFull = "the disk is full: free space";

const wayOut: Readonly<Record<string, string>> = {
  BUSY: "another process holds the file for too long: look for a long transaction, or a backup that locks it",
  READONLY: unwritable,
  IOERR: "the disk fails or is full: free space, or look at the system's log",
  CORRUPT:
    "the file is damaged: stop the app, keep a copy, restore a backup or recover it with sqlite3's .recover",
  FULL: diskFull,
  NOTADB: "the file is no SQLite database: name another path",
};

/** A failure with its way out, and SQLite's message. */
export function failureOf(error: unknown, path: string): ThreadFailure {
  if (error instanceof ReporthookError) return { code: error.code, failed: error.message };
  const code = sqliteCode(error);
  const way = code === "CANTOPEN" ? whyUnopened(path) : wayOut[code ?? ""];
  const text = way === undefined ? describe(error) : `${way} (${describe(error)})`;
  return { code: "inbox_failed", failed: `${path}: ${text}` };
}

/** The failure if every step would meet it: a lock, or a missing file. Else null. */
export function failureOfAll(error: unknown, path: string): ThreadFailure | null {
  const isLocked = sqliteCode(error) === "BUSY";
  return isLocked || error instanceof ReporthookError ? failureOf(error, path) : null;
}

/** Throws if the disk of a file is full, as SQLite would once it writes. */
export function assertRoom(path: string): void {
  const { bavail, blocks, bsize } = statfsSync(dirname(path));
  // Some file systems do not say how large they are.
  if (blocks === 0 || bavail * bsize >= leastRoomBytes) return;
  throw new ReporthookError("inbox_failed", `${path}: ${diskFull}`);
}

/** The reason why a file can't be opened: SQLite does not report it. */
function whyUnopened(path: string): string {
  const folder = dirname(path);
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      return `this is a folder: name a file in it, like ${join(path, "inbox.db")}`;
    }
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      return `the folder ${folder} is not there: create it, or name another path`;
    }
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return unwritable;
  }
  return "the file can't be opened: give the app the right to read and write it, and look at its limit of open files";
}
