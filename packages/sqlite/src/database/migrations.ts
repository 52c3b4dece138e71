import { randomInt } from "node:crypto";
import { ReporthookError } from "@reporthook/core";
import { type Database, rollBack } from "./driver.ts";
import { applicationId, markIn, marks, schemaIn, userVersionOf } from "./header.ts";

/**
 * The steps from one version of the file to the next; the version is the number of applied steps. Never edit a released step:
 * append another.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE receiver (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  );
  -- Times are lived times in milliseconds: see the table lived. States: 0 received, 1 verified, 2 handled, 3 held, 4 rejected, 5 dead.
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    receiver INTEGER NOT NULL REFERENCES receiver,
    arrived_at INTEGER NOT NULL,
    ack_ms REAL NOT NULL,
    state INTEGER NOT NULL,
    -- Where it waits or is leased: see queue.ts. Null at the end of its way.
    queue INTEGER,
    rank INTEGER,
    -- How often work on it began since an outcome was recorded.
    starts INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    give_way INTEGER NOT NULL DEFAULT 0,
    verification TEXT,
    type TEXT,
    report TEXT,
    reason TEXT,
    reason_message TEXT,
    released INTEGER NOT NULL DEFAULT 0,
    memo TEXT,
    last_error TEXT,
    -- Null until its first attempt has ended.
    changed_at INTEGER,
    -- How long it is kept from changed_at on: 0 rejected, 1 unsigned, 2 handled, 3 parked.
    kept_as INTEGER,
    history TEXT,
    -- Until the verdict.
    signature TEXT,
    same_signature_as TEXT,
    url TEXT NOT NULL,
    headers TEXT NOT NULL,
    body BLOB
  );
  CREATE INDEX delivery_queue ON delivery (receiver, queue, rank) WHERE queue IS NOT NULL;
  CREATE INDEX delivery_state ON delivery (receiver, state, id);
  CREATE INDEX delivery_type ON delivery (receiver, type, id) WHERE type IS NOT NULL;
  CREATE INDEX delivery_report ON delivery (receiver, report, id) WHERE report IS NOT NULL;
  CREATE INDEX delivery_reason ON delivery (receiver, reason, id) WHERE reason IS NOT NULL;
  CREATE INDEX delivery_ended ON delivery (kept_as, changed_at) WHERE kept_as IS NOT NULL;
  -- The last number given to a delivery: never again to another, for the dedupe window tells them apart by it.
  CREATE TABLE numbered (last INTEGER NOT NULL);
  INSERT INTO numbered VALUES (0);
  -- The keys of the last 24 hours, in order of arrival: the dedupe window.
  CREATE TABLE seen (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    key BLOB NOT NULL
  );
  -- Those of them that are too many to be held in memory.
  CREATE TABLE seen_before (
    key BLOB PRIMARY KEY,
    seq INTEGER NOT NULL
  ) WITHOUT ROWID;
  -- How many there are of each kind, so that nobody has to scan: see kinds.ts.
  CREATE TABLE tally (
    receiver INTEGER NOT NULL REFERENCES receiver,
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (receiver, kind)
  ) WITHOUT ROWID;
  -- Lived time and the wall clock at one moment, the later one of all processes, and by how much retention is held back.
  CREATE TABLE lived (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    lived_at INTEGER NOT NULL,
    wall_at INTEGER NOT NULL,
    furthest_at INTEGER NOT NULL,
    unseen_ms INTEGER NOT NULL,
    held_ms INTEGER NOT NULL
  );
  -- Who works on deliveries; one whose beat stands still for some seconds has lost its leases.
  CREATE TABLE owner (
    number INTEGER PRIMARY KEY,
    beat INTEGER NOT NULL
  );
  `,
  // JSON text: the context of the callback URL.
  "ALTER TABLE delivery ADD COLUMN context TEXT",
  // The keys of one transaction are one row, in lists of the same order; older keys stay one row each.
  `
  CREATE TABLE seen_together (
    last INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    seqs TEXT NOT NULL,
    ids TEXT NOT NULL,
    times TEXT NOT NULL,
    keys BLOB NOT NULL
  );
  INSERT INTO seen_together SELECT seq, 1, seq, id, at, key FROM seen;
  DROP TABLE seen;
  ALTER TABLE seen_together RENAME TO seen;
  `,
  // The last number is a count, too: in a separate page it would cost each commit as much as another delivery.
  `
  INSERT INTO tally SELECT number, 9, (SELECT last FROM numbered) FROM receiver ORDER BY number LIMIT 1;
  DROP TABLE numbered;
  `,
  // The number and the host of its process, for people.
  "ALTER TABLE owner ADD COLUMN process TEXT",
  // When the end of a parked delivery was announced: only read in the class 6 of kept_as. How long the app keeps deliveries.
  `
  ALTER TABLE delivery ADD COLUMN announced_at INTEGER;
  CREATE TABLE retention (
    handled_ms REAL NOT NULL,
    parked_ms REAL NOT NULL
  );
  `,
];

/**
 * Rejects the file of another application or a newer version, without a change.
 *
 * @throws {ReporthookError} `inbox_failed` for a newer file, one of another application, or when it had to be changed and `migrate` is off
 */
export function checkSchema(
  database: Database,
  path: string,
  migrate: boolean,
  steps: readonly string[] = migrations,
): void {
  const { version } = versionOf(database, path);
  const ours = "@reporthook/sqlite";
  if (version > steps.length) {
    throw refused(
      `${path} was written by a newer version of ${ours} (${version}, this one knows ${steps.length}): update the package`,
    );
  }
  if (version === steps.length || migrate) return;
  throw refused(
    version === 0
      ? `${path} is no inbox yet: let the app open it first`
      : `${path} was written by an older version of ${ours}: let the app open it first, with this version`,
  );
}

/**
 * Brings the file to the version of this package.
 *
 * @throws what {@link checkSchema} throws
 */
export function prepareSchema(
  database: Database,
  path: string,
  migrate: boolean,
  steps: readonly string[] = migrations,
): void {
  if (versionOf(database, path).version === steps.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been faster.
    checkSchema(database, path, migrate, steps);
    const { version, mark } = versionOf(database, path);
    for (const step of steps.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${userVersionOf(mark, steps.length)}`);
    database.exec(`PRAGMA application_id = ${applicationId}`);
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

// One statement sees one state of the file: another process may be initializing it at this moment.
const whatItIs = `
  SELECT (SELECT application_id FROM pragma_application_id) AS application,
    (SELECT user_version FROM pragma_user_version) AS version,
    (SELECT count(*) FROM sqlite_master) AS tables
`;

function versionOf(database: Database, path: string): { version: number; mark: number } {
  const { application, version, tables } = database.prepare(whatItIs).get() ?? {};
  const isNew = application === 0 && version === 0 && tables === 0;
  if (application !== applicationId && !isNew) {
    throw refused(`${path} is the SQLite file of another application: name another file`);
  }
  // Of a new file any, so that it is not taken for another one.
  const mark = isNew ? randomInt(marks) : markIn(Number(version));
  return { version: schemaIn(Number(version)), mark };
}

function refused(message: string): ReporthookError {
  return new ReporthookError("inbox_failed", message);
}
