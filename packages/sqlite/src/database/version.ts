import type { Database } from "./driver.ts";

/** The SQLite that a connection runs on, as 3.51.3. */
export function sqliteVersion(database: Database): string {
  return String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
}

// Fixed in 3.51.3, and in two lines before it.
const fixedInLine: Readonly<Record<number, number>> = { 44: 6, 50: 7, 51: 3 };

/**
 * Whether a version of SQLite has the WAL-reset bug (sqlite.org/wal.html): a checkpoint during a commit of another connection may
 * lose commits. An unreadable version counts as affected.
 */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major > 3 || (major === 3 && minor > 51)) return false;
  return !(patch >= (fixedInLine[minor] ?? Number.POSITIVE_INFINITY));
}
