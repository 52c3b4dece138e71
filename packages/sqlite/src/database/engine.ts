import { loadDriver } from "./driver.ts";
import { hasWalResetBug, sqliteVersion } from "./version.ts";

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
    const version = sqliteVersion(database);
    return { driver: name, version, hasWalResetBug: hasWalResetBug(version) };
  } finally {
    database.close();
  }
}
