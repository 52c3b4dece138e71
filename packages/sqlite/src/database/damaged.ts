import { existsSync, renameSync } from "node:fs";
import { sqliteCode } from "./result-code.ts";

/** Whether SQLite has said that the content of a file is damaged. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === "CORRUPT" || code === "NOTADB";
}

/** The ends of a file's name and of those beside it. */
const ends = ["", "-wal", "-shm"];
/** The most damaged files of a place: no further one is set aside. */
const mostDamaged = 100;

/** Where the damaged file waits for a check that was set aside last; null if there is none. */
export function damagedPath(path: string): string | null {
  const number = lastDamaged(path, [""]);
  return number === 0 ? null : nthDamaged(path, number);
}

/** Where the first, second, … damaged file of a place is: an earlier one may wait to be recovered. */
function nthDamaged(path: string, number: number): string {
  return number === 1 ? `${path}-damaged` : `${path}-damaged-${number}`;
}

/** The number of the last damaged file with one of these ends. Also in a folder that can't be listed. */
function lastDamaged(path: string, which: readonly string[]): number {
  let number = mostDamaged;
  while (number > 0 && !which.some((end) => existsSync(nthDamaged(path, number) + end))) number--;
  return number;
}

/**
 * Moves a damaged file and its log out of the way, to names that are free: SQLite neither checkpoints a moved file nor deletes its
 * log, whenever a connection is closed. The next start finds them, checks them, and moves them back. Returns where the file is
 * then; null if it could not be moved.
 */
export function setAside(path: string): string | null {
  const last = lastDamaged(path, ends);
  if (last === mostDamaged) return null;
  const damaged = nthDamaged(path, last + 1);
  // The file first: other processes look for it before they look for its log. The one that moves it moves the others too.
  if (!move(path, damaged)) return null;
  for (const end of ["-wal", "-shm"]) move(path + end, damaged + end);
  return damaged;
}

/** Moves a damaged file, with its log, to the place where the inbox is looked for. */
export function takeBack(path: string, damaged: string): void {
  for (const end of ["-shm", "-wal", ""]) move(damaged + end, path + end);
}

/** Whether it was moved: another process may be faster, and a folder may be one that can't be written. */
function move(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}
