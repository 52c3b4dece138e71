import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { assertKnownKeys, type RetentionOptions, retentionOf } from "@reporthook/core/store";
import { loadDriver } from "../database/driver.ts";
import type { StoreOptions } from "../protocol/protocol.ts";

const maxLinks = 40;
/** A part of a path that is the text of a value which is none. */
const notSet = /(?<![^/\\])(?:undefined|null|NaN|\[object \w+\])(?=(?:\.\w+)?$|[/\\])/;
/** A variable of a shell or of a file of settings that stands where its value should, or the query of a URL. */
const notReplaced = /\?\w+=|\$\{\w+\}|^\$\w+|%[A-Za-z_]\w*%/;

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
  const checked = retentionOf("sqliteInbox", retention);
  return { path: realPath(resolve(path)), driver: module, migrate, retention: checked };
}

/**
 * Checks the path of an inbox: SQLite would make a file of any name in the working folder.
 *
 * @throws TypeError that says what it takes, and quotes no URL, which may hold a token
 */
function checkPath(given: unknown): asserts given is string {
  const path = given instanceof URL ? given.href : given;
  const takes = "sqliteInbox takes the path of a file, like inbox.db";
  // libsql ends the process on a NUL.
  if (typeof path !== "string" || /^(?:\s*|:memory:.*)$|\0/.test(path)) {
    throw new TypeError(`${takes}: path must name a file; without one, use memoryInbox()`);
  }
  // A single letter is a drive of Windows.
  const [scheme] = /^[a-z][a-z\d+.-]+:/i.exec(path) ?? [];
  if (scheme !== undefined) {
    const way = scheme === "file:" ? "omit it, or use fileURLToPath()" : "it opens no server";
    throw new TypeError(`${takes}, not a URL (${scheme}): ${way}`);
  }
  const [unset] = notSet.exec(path) ?? notReplaced.exec(path) ?? [];
  if (unset !== undefined || path !== path.trim()) {
    const why = unset === undefined ? "white space at an end" : `"${unset}" in it`;
    throw new TypeError(`${takes}, and this one has ${why}: check the variable it comes from`);
  }
}

/** The path of a file, existing or not, with all links resolved: SQLite keeps its log there. */
function realPath(path: string, links = 0): string {
  try {
    const place = join(realpathSync(dirname(path)), basename(path));
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (!isLink || links === maxLinks) return place;
    return realPath(resolve(dirname(place), readlinkSync(place)), links + 1);
  } catch {
    // The folder does not exist: open() will report it.
    return path;
  }
}
