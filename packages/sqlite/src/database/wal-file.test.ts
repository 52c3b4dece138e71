import { readFileSync, statSync } from "node:fs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { watched } from "@reporthook/test-support/watched-database";
import { expect, onTestFinished, test } from "vitest";
import { type Database, loadDriver } from "./driver.ts";
import { type CheckpointGuard, WalFile } from "./wal-file.ts";

const driver = loadDriver();
const sound: CheckpointGuard = { isSound: () => true, checkpointed: () => {} };

function connect(path: string): Database {
  const database = driver.open(path);
  onTestFinished(() => database.close());
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  return database;
}

function setUp() {
  const path = temporaryPath();
  const database = connect(path);
  database.exec("CREATE TABLE bytes (value)");
  const add = (to: Database, bytes: number): unknown =>
    to.prepare("INSERT INTO bytes VALUES (?)").run(new Uint8Array(bytes));
  /** The log, by this connection. */
  const logOf = (connection: Database): WalFile => {
    const log = new WalFile(connection, driver, path);
    onTestFinished(() => log.close());
    return log;
  };
  return { path, database, add, logOf };
}

/** Which log it is: another one each time that it starts over. */
const saltsOf = (path: string): string =>
  readFileSync(`${path}-wal`).subarray(16, 24).toString("hex");

test("a commit during a checkpoint does not start the log over", () => {
  const { path, database, add, logOf } = setUp();
  const other = connect(path);
  const third = connect(path);
  let salts = "";
  let isOver = false;
  const during = (): void => {
    if (isOver) return;
    isOver = true;
    salts = saltsOf(path);
    // A checkpoint that completes, and a commit that would start the log over.
    expect(third.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()).toMatchObject({ busy: 0 });
    add(other, 10);
  };
  const interrupted = watched(database, (sql, use) => {
    if (use === "get" && sql.includes("wal_checkpoint")) during();
  });
  const log = logOf(interrupted);
  add(database, 9_000_000);
  log.committed(9_000_000, sound);
  expect(isOver).toBe(true);
  expect(saltsOf(path)).toBe(salts);
  const rows = "SELECT count(*) AS number FROM bytes";
  expect(database.prepare(rows).get()?.["number"]).toBe(2);
});

test("the checkpointer does nothing while the guard complains", () => {
  const { path, database, add, logOf } = setUp();
  const log = logOf(database);
  add(database, 4_000_000);
  const { size } = statSync(path);
  log.committed(4_000_000, { isSound: () => false, checkpointed: () => {} });
  expect(statSync(path).size).toBe(size);
  log.committed(4_000_000, sound);
  expect(statSync(path).size).toBeGreaterThan(4_000_000);
});

test("the log's file shrinks once a reader that held on to it is gone", () => {
  const { path, database, add, logOf } = setUp();
  const log = logOf(database);
  const reader = connect(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) AS number FROM bytes").get();
  for (let one = 0; one < 20; one++) {
    add(database, 1_000_000);
    log.committed(1_000_000, sound);
  }
  const size = (): number => statSync(`${path}-wal`).size;
  expect(size()).toBeGreaterThan(20_000_000);
  reader.exec("COMMIT");
  // As few and as small as those of an app that nobody asks for anything, which gives a sign of life each 5 seconds.
  for (let one = 0; one < 33; one++) {
    add(database, 10);
    log.committed(10, sound);
  }
  expect(size()).toBeLessThanOrEqual(4 * 1_024 * 1_024);
});
