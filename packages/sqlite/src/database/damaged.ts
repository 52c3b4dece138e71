import { existsSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import { sqliteCode } from "./result-code.ts";

/** Whether SQLite has said that the content of a file is damaged. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === "CORRUPT" || code === "NOTADB";
}

/** The ends of a file's name and of those beside it. */
const ends = ["", "-wal", "-shm"];
const named = /^-damaged(?:-([2-9]|[1-9]\d+))?(-wal|-shm)?$/;

/** Where the damaged file waits for a check that was set aside last; null if there is none. */
export function damagedPath(path: string): string | null {
  const number = Math.max(0, ...numbersOf(path, [""]));
  return number === 0 ? null : nthDamaged(path, number);
}

/** Where the first, second, … damaged file of a place is: an earlier one may wait to be recovered. */
function nthDamaged(path: string, number: number): string {
  return number === 1 ? `${path}-damaged` : `${path}-damaged-${number}`;
}

/** The numbers of the damaged files of a place, with one of these ends. */
function numbersOf(path: string, which: readonly string[]): readonly number[] {
  const name = basename(path);
  return namesIn(dirname(path), path).flatMap((each) => {
    const found = each.startsWith(name) ? named.exec(each.slice(name.length)) : null;
    return found !== null && which.includes(found[2] ?? "") ? Number(found[1] ?? 1) : [];
  });
}

/** The names in a folder; in one that can't be listed, those of the damaged files up to a number without any. */
function namesIn(folder: string, path: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    const names: string[] = [];
    for (let number = 1, before = -1; before < names.length; number++) {
      before = names.length;
      const files = ends.map((end) => nthDamaged(path, number) + end);
      names.push(...files.filter((file) => existsSync(file)).map((file) => basename(file)));
    }
    return names;
  }
}

/**
 * Moves a damaged file and its log out of the way, to names that are free: SQLite neither checkpoints a moved file nor deletes its
 * log, whenever a connection is closed. The next start finds them, checks them, and moves them back. Returns where the file is
 * then; null if it could not be moved.
 */
export function setAside(path: string): string | null {
  const damaged = nthDamaged(path, Math.max(0, ...numbersOf(path, ends)) + 1);
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
