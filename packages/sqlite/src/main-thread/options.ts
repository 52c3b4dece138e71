import { resolve } from "node:path";
import { assertKnownKeys, type RetentionOptions, retentionOf } from "@reporthook/core/store";
import { loadDriver } from "../database/driver.ts";
import type { StoreOptions } from "../protocol/protocol.ts";
import { checkPath } from "./check-path.ts";
import { realPath } from "./real-path.ts";

/** Options of `sqliteInbox`. */
export interface SqliteInboxOptions {
  /**
   * A module with SQLite: `"node:sqlite"`, `"libsql"` or `"better-sqlite3"`. Default: the first available one of the first two.
   */
  readonly driver?: string | undefined;
  /**
   * How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. It is written into the file, where tools
   * find it; of several apps the last to open the file decides.
   */
  readonly retention?: RetentionOptions | undefined;
  /** Whether a missing file is made: true. A tool passes false: it then also keeps to the retention in the file. */
  readonly migrate?: boolean | undefined;
}

/**
 * Checks the path and the options of `sqliteInbox`, and fills in the defaults.
 *
 * @throws TypeError for a wrong one; ReporthookError `inbox_failed` that names what to install when there is no SQLite
 */
export function storeOptionsOf(path: string, options: SqliteInboxOptions): StoreOptions {
  assertKnownKeys("sqliteInbox", options, ["driver", "retention", "migrate"]);
  const { driver, retention, migrate = true } = options;
  checkPath(path);
  if (typeof migrate !== "boolean") {
    throw new TypeError(`sqliteInbox: migrate must be true or false, not ${String(migrate)}`);
  }
  const { module } = loadDriver(driver);
  const file = realPath(resolve(path));
  const checked = retentionOf("sqliteInbox", retention);
  return { path: file, driver: module, migrate, retention: checked };
}
