import { closeSync, existsSync, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { tryGet } from "@reporthook/core/store";
import { damagedPath, isDamage, setAside, takeBack } from "./damaged.ts";
import { type Database, type Driver, inboxFailed } from "./driver.ts";
import { isBetween, lookAgain, markBefore, readHeader } from "./header.ts";
import { logMarksOf } from "./log-content.ts";
import { isSameFile } from "./same-file.ts";

const runbook = "as docs/operating.md says under When the inbox fails";

/** The damaged file that is to be checked in place of a missing one; none beside a log that is not its own. */
function damagedToCheck(path: string): string | null {
  const damaged = existsSync(path) ? null : damagedPath(path);
  if (damaged === null || logMarksOf(path) === null) return damaged;
  if (existsSync(`${damaged}-wal`)) return null;
  const descriptor = descriptorOf(damaged);
  const problem = problemBesideLog(path, descriptor);
  if (descriptor !== null) closeSync(descriptor);
  return problem === null ? damaged : null;
}

/** Whether all pages can be read, through a connection that has none of them in memory. */
export function isWhole(database: Database): boolean {
  try {
    return database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"] === "ok";
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Whether a checkpoint went over an older copy, header and all. */
function isOverCopy(database: Database, descriptor: number): boolean {
  const header = readHeader(descriptor);
  if (header === null) return false;
  const before = markBefore(database, descriptor, header.mark);
  return before === null || !isBetween(before, header.mark - 1, header.mark + 1);
}

/** Checks a file that was set aside; sets it aside again before a connection to it is closed if it is damaged. */
function checkDamaged(driver: Driver, path: string, held: number | null): void {
  const database = driver.open(path);
  try {
    database.exec("PRAGMA busy_timeout = 3000");
    if (isWhole(database) && (held === null || !isOverCopy(database, held))) return;
    const now = setAside(path) ?? path;
    throw inboxFailed(
      `${path} is damaged: restore a backup, or recover it, ${runbook}. It is ${now} now`,
    );
  } finally {
    database.close();
  }
}

/**
 * Checks a file before it is used, and makes a missing one if it may; returns a descriptor of it, the one that is held open if
 * there is one, or null if SQLite will report why not.
 *
 * @throws {ReporthookError} `inbox_failed` when it is damaged, or another one than its log belongs to
 */
export function preparePlace(
  path: string,
  driver: Driver,
  mayMake: boolean,
  descriptor: number | null,
): number | null {
  const damaged = damagedToCheck(path);
  if (damaged !== null) takeBack(path, damaged);
  let opened: number | null = null;
  try {
    if (!existsSync(path) && !mayMake)
      throw inboxFailed(`There is no ${path}: name the app's file`);
    makeNew(path);
    if (damaged !== null && !existsSync(path))
      throw inboxFailed(`${path} is missing, and ${damaged} could not be moved back`);
    checkPlace(path);
    const isHeld = isOf(descriptor, path);
    if (!isHeld) opened = descriptorOf(path);
    const held = isHeld ? descriptor : opened;
    checkFile(path, held);
    if (damaged !== null) checkDamaged(driver, path, held);
    return held;
  } catch (error) {
    if (opened !== null) closeSync(opened);
    const now = damaged === null ? null : setAside(path);
    if (now === null || !(error instanceof ReporthookError)) throw error;
    throw inboxFailed(`${error.message}. It is ${now} now, with its log`);
  }
}

/** Makes an empty file that only its owner can read, where there is none yet, also no earlier one and no log of one. */
export function makeNew(path: string): void {
  if (existsSync(path) || damagedPath(path) !== null || logMarksOf(path) !== null) return;
  // Another process may be faster, or the file can't be created: SQLite will report it.
  tryGet(() => closeSync(openSync(path, "ax", 0o600)));
}

/** Opens a file to read it; null if that is impossible. */
export function descriptorOf(path: string): number | null {
  return tryGet(() => openSync(path, "r")) ?? null;
}

/** Whether a descriptor is of the file at a path. */
function isOf(descriptor: number | null, path: string): boolean {
  if (descriptor === null) return false;
  return tryGet(() => isSameFile(fstatSync(descriptor), lstatSync(path))) ?? false;
}

/** Refuses a file that its log does not belong to: SQLite would drop the log of an empty one, and mix it with any other. */
function checkFile(path: string, descriptor: number | null): void {
  const problem = lookAgain(() => problemBesideLog(path, descriptor));
  if (problem === null) return;
  throw inboxFailed(
    `${path} ${problem}, and ${path}-wal holds deliveries of the file before it: put that file back, or move the log away to go on without them, ${runbook}`,
  );
}

/** How a file is none that its log belongs to; null if it is, or there is no log. */
function problemBesideLog(path: string, descriptor: number | null): string | null {
  const marks = logMarksOf(path);
  if (marks === null) return null;
  if (descriptor === null || fstatSync(descriptor).size === 0) return "is missing or empty";
  const header = readHeader(descriptor);
  const [first, last] = [marks[0], marks.at(-1)];
  if (first === undefined || last === undefined) return null;
  // The first may have been raised in the log.
  const belongs = header !== null && isBetween(header.mark, first - 1, last);
  return belongs ? null : "is an older copy or another file";
}

/**
 * Checks, before SQLite opens it, that the log will be kept where a restart and every other process look for it.
 *
 * @throws {ReporthookError} `inbox_failed` when the file has several names, or was mounted without its folder
 */
export function checkPlace(path: string): void {
  const [file, folder] = [path, dirname(path)].map((each) => tryGet(() => lstatSync(each)));
  // SQLite will report it.
  if (file === undefined || folder === undefined || !file.isFile()) return;
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
  const lines = tryGet(() => readFileSync("/proc/self/mountinfo", "utf8").split("\n")) ?? [];
  return lines.some((line) => line.split(" ")[4] === name);
}
