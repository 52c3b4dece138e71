import { readdirSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import { sqliteCode } from "./result-code.ts";

/** Whether SQLite has said that the content of a file is damaged. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === "CORRUPT" || code === "NOTADB";
}

const damagedEnd = /^-damaged(?:-(\d+))?$/;

/** Where the damaged file waits for a check that was set aside last; null if there is none. */
export function damagedPath(path: string): string | null {
  const number = damagedNumber(path);
  return number === 0 ? null : nthDamaged(path, number);
}

/** Where the first, second, … damaged file of a place is: an earlier one may wait to be recovered. */
function nthDamaged(path: string, number: number): string {
  return number === 1 ? `${path}-damaged` : `${path}-damaged-${number}`;
}

/** The number of the last damaged file of a place; 0 if there is none. */
function damagedNumber(path: string): number {
  const name = basename(path);
  const numbers = namesIn(dirname(path))
    .filter((each) => each.startsWith(name))
    .map((each) => damagedEnd.exec(each.slice(name.length)))
    .map((found) => (found === null ? 0 : Number(found[1] ?? 1)));
  return Math.max(0, ...numbers);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Moves a damaged file and its log out of the way, to names that are free: SQLite neither checkpoints a moved file nor deletes its
 * log, whenever a connection is closed. The next start finds them, checks them, and moves them back.
 */
export function setAside(path: string): void {
  const damaged = nthDamaged(path, damagedNumber(path) + 1);
  // The file first: other processes look for it before they look for its log. The one that moves it moves the others too.
  if (!move(path, damaged)) return;
  for (const end of ["-wal", "-shm"]) move(path + end, damaged + end);
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
