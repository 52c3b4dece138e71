import { randomInt } from "node:crypto";
import { type Database, inboxFailed, rollBack } from "./driver.ts";
import { applicationId, marks, schemaIn, writeMark } from "./header.ts";

/** The version of the schema: a file of any other one is refused. */
const schemaVersion = 20;

/**
 * The rows in the index of states. It has those that wait or are parked, which are few: most are leased as they come, and then
 * handled. Leased ones are found in the index of the queue, handled ones in their own.
 */
export const inIndexOfStates = "state NOT IN (2, 6) AND ifnull(queue, 0) < 5";

const schema = `
  -- The last two marks of the file: see FileContent.
  CREATE TABLE even_mark (mark TEXT NOT NULL);
  CREATE TABLE odd_mark (mark TEXT NOT NULL);
  INSERT INTO even_mark VALUES ('');
  INSERT INTO odd_mark VALUES ('');
  CREATE TABLE receiver (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  );
  -- Times are lived times in milliseconds: see the table lived.
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    receiver INTEGER NOT NULL REFERENCES receiver,
    arrived_at INTEGER NOT NULL,
    -- By the token of its callback URL.
    request TEXT,
    -- Of a signed one: stands for its signature, and for the signed content.
    key BLOB,
    -- 1 if another delivery with this signature came, before it or after it.
    is_reused INTEGER,
    -- 0 received, 1 verified, 2 handled, 3 held, 4 rejected, 5 dead, 6 deleted but for its key.
    state INTEGER NOT NULL,
    -- To be verified: 0 later, 1 next, 2 next but deprioritized, 5 leased. To be handled: 3 later, 4 next, 6 leased. Null at the
    -- end of its way.
    queue INTEGER,
    -- Its order in the queue: when it arrived in 1, when it had its last turn in 2, its worker in 5 and 6, else when it is due.
    rank INTEGER,
    -- How often work on it began since an outcome was recorded.
    starts INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    -- When a deprioritized one had its last turn; null for all others.
    last_turn_at INTEGER,
    verification TEXT,
    type TEXT,
    report TEXT,
    reason TEXT,
    reason_message TEXT,
    released INTEGER NOT NULL DEFAULT 0,
    retry_state TEXT,
    last_error TEXT,
    -- The key of the group of deliveries with this error.
    error TEXT,
    -- Null until its first attempt has ended.
    changed_at INTEGER,
    -- How long it is kept from changed_at on: 0 rejected and without a body, 8 rejected and with it, 1 unsigned and held, 2 handled, 3 parked, 4 unsigned and handled,
    -- 5 unsigned and dead, 6 parked and its end announced, 7 deleted but for its key.
    kept_as INTEGER,
    -- When its end was announced: only read in the class 6 of kept_as.
    announced_at INTEGER,
    history TEXT,
    -- Until the verdict.
    signature TEXT,
    same_signature_as TEXT,
    url TEXT NOT NULL,
    -- JSON text: the context of the callback URL.
    context TEXT,
    headers TEXT NOT NULL,
    body BLOB
  );
  CREATE INDEX delivery_queue ON delivery (receiver, queue, rank) WHERE queue IS NOT NULL;
  CREATE INDEX delivery_state ON delivery (receiver, state, id, type) WHERE ${inIndexOfStates};
  -- Those that are many do not begin with the receiver: each receiver would have a page of its own written in each transaction.
  CREATE INDEX delivery_handled ON delivery (id, receiver, type) WHERE state = 2;
  CREATE INDEX delivery_report ON delivery (report, id) WHERE report IS NOT NULL;
  CREATE INDEX delivery_request ON delivery (request, id) WHERE request IS NOT NULL;
  CREATE INDEX delivery_reason ON delivery (receiver, reason, id) WHERE reason IS NOT NULL;
  -- With all that groups of errors need.
  CREATE INDEX delivery_error ON delivery (receiver, error, id, state, reason) WHERE error IS NOT NULL;
  CREATE INDEX delivery_ended ON delivery (kept_as, changed_at) WHERE kept_as IS NOT NULL;
  -- To read the keys without the rest, and to find one of a signature that several have.
  CREATE INDEX delivery_key ON delivery (seq, arrived_at, key) WHERE key IS NOT NULL;
  CREATE INDEX delivery_reused ON delivery (key, arrived_at) WHERE is_reused IS NOT NULL;
  -- Requests for reports: JSON text of all of it, and the parts by which it is found.
  CREATE TABLE request (
    receiver INTEGER NOT NULL REFERENCES receiver,
    id TEXT NOT NULL,
    -- Its idempotency key.
    key TEXT,
    state TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    settled_at INTEGER,
    overdue_at INTEGER,
    -- Nested deeper, perhaps, than SQLite reads it.
    data TEXT NOT NULL,
    PRIMARY KEY (receiver, id)
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX request_key ON request (receiver, key) WHERE key IS NOT NULL;
  CREATE INDEX request_state ON request (receiver, state, id);
  CREATE INDEX request_due ON request (receiver, due_at) WHERE settled_at IS NULL AND overdue_at IS NULL;
  CREATE INDEX request_overdue ON request (receiver, id) WHERE settled_at IS NULL AND overdue_at IS NOT NULL;
  CREATE INDEX request_settled ON request (settled_at) WHERE settled_at IS NOT NULL;
  -- How many there are, so that nobody has to scan: JSON text by name, see protocol/counts.ts. One row for all of a receiver's,
  -- for a transaction may change those of many.
  CREATE TABLE tally (
    receiver INTEGER PRIMARY KEY REFERENCES receiver,
    counts TEXT NOT NULL
  );
  -- The last acts of people: receiver is null for all, data JSON text.
  CREATE TABLE act (
    number INTEGER PRIMARY KEY,
    receiver INTEGER REFERENCES receiver,
    data TEXT NOT NULL,
    -- How many deliveries it changed.
    count INTEGER NOT NULL
  );
  -- Lived time and the wall clock at one moment, the later one of all processes, and by how much retention is held back: JSON text.
  CREATE TABLE lived (mark TEXT NOT NULL);
  -- Who works on deliveries; one whose beat stands still for some seconds has lost its leases.
  CREATE TABLE owner (
    number INTEGER PRIMARY KEY,
    beat INTEGER NOT NULL,
    -- The number and the host of its process, for people.
    process TEXT
  );
  -- Texts of a receiver: its processes, the problems that were told, the numbers of hours.
  CREATE TABLE note (
    receiver TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (receiver, key)
  ) WITHOUT ROWID;
  -- How long the app keeps deliveries.
  CREATE TABLE retention (
    handled_ms REAL NOT NULL,
    parked_ms REAL NOT NULL
  );
`;

/** Writes something, and takes it back: whether the file can be written shows only so. */
export const probe =
  "INSERT INTO owner (number, beat) VALUES (0, 0); DELETE FROM owner WHERE number = 0";

/** Whether the file has the schema; refuses one that has another, without a change. */
function hasSchema(database: Database, path: string, mayMake: boolean): boolean {
  const { application, version, tables } = database.prepare(whatItIs).get() ?? {};
  if (application === 0 && version === 0 && tables === 0) {
    if (mayMake) return false;
    throw inboxFailed(`${path} is no inbox yet: let the app open it first`);
  }
  if (application !== applicationId) {
    throw inboxFailed(`${path} is the SQLite file of another application: name another file`);
  }
  const found = schemaIn(Number(version));
  if (found === schemaVersion) return true;
  const [written, wayOut] =
    found > schemaVersion
      ? ["a newer", "update the package"]
      : ["an older", "let the older one work off what waits in it, then name a new file"];
  throw inboxFailed(
    `${path} was written by ${written} version of @reporthook/sqlite (${found}, this one knows ${schemaVersion}): ${wayOut}`,
  );
}

/**
 * Makes the schema in a new file.
 *
 * @throws {ReporthookError} `inbox_failed` for a file of another version or application, and for a new one that may not be made
 */
export function prepareSchema(database: Database, path: string, mayMake: boolean): void {
  if (hasSchema(database, path, mayMake)) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been faster.
    if (!hasSchema(database, path, mayMake)) {
      database.exec(schema);
      // With any mark, so that it is not taken for another file.
      const mark = randomInt(marks);
      for (const one of [mark - 1, mark]) writeMark(database, one, schemaVersion);
      database.exec(`PRAGMA application_id = ${applicationId}`);
    }
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
