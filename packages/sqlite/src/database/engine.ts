import { loadDriver } from "./driver.ts";

/** The SQLite of an inbox. */
export interface SqliteEngine {
  /** The module it comes from, like `node:sqlite`. */
  readonly driver: string;
  /** Its version, like 3.51.3. */
  readonly version: string;
  /** Whether it has SQLite's WAL-reset bug, which the inbox avoids and other programs that write to its file may not. */
  readonly hasWalResetBug: boolean;
}

/**
 * The SQLite that {@link sqliteInbox} uses in this process, with the same option `driver`.
 *
 * @throws ReporthookError `inbox_failed` that names what to install when there is no SQLite
 * @example
 * const { driver, version } = sqliteEngine();
 * console.log(`SQLite ${version} from ${driver}`);
 */
export function sqliteEngine(driver?: string): SqliteEngine {
  const { name, open } = loadDriver(driver);
  const database = open(":memory:");
  try {
    const row = database.prepare("SELECT sqlite_version() AS version").get();
    const version = String(row?.["version"]);
    return { driver: name, version, hasWalResetBug: isAffectedVersion(version) };
  } finally {
    database.close();
  }
}

// Fixed in 3.51.3, and in two lines before it.
const fixedInLine: Readonly<Record<number, number>> = { 44: 6, 50: 7, 51: 3 };

/**
 * Whether a version of SQLite has the WAL-reset bug (sqlite.org/wal.html): a checkpoint during a commit of another connection may
 * lose commits. An unreadable version counts as affected.
 */
export function isAffectedVersion(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major > 3 || (major === 3 && minor > 51)) return false;
  return !(patch >= (fixedInLine[minor] ?? Number.POSITIVE_INFINITY));
}
