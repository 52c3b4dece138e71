import { closeSync, copyFileSync, lstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { describe, expect, it, onTestFinished } from "vitest";
import { setAside } from "./damaged.ts";
import { type Database, loadDriver } from "./driver.ts";
import { FileContent } from "./file-content.ts";
import { markIn } from "./header.ts";
import { preparePlace } from "./place.ts";
import { prepareSchema } from "./schema.ts";

const driver = loadDriver();

function connect(path: string): Database {
  const database = driver.open(path);
  onTestFinished(() => database.close());
  prepareSchema(database, path, true);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  return database;
}

/** An inbox file, and another connection to it, as another process has. */
function setUp() {
  const path = temporaryPath();
  const database = connect(path);
  const other = connect(path);
  const descriptor = openSync(path, "r");
  onTestFinished(() => closeSync(descriptor));
  const content = new FileContent(database, descriptor, other, true);
  const check = (): string | null => content.check(lstatSync(path));
  /** A commit with its checkpoint. */
  const commit = (from: Database = database): void => {
    from.exec("BEGIN IMMEDIATE");
    if (from === database) content.raise();
    from.exec("INSERT INTO receiver (name) VALUES (hex(randomblob(9))); COMMIT");
    from.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
    if (from === database) expect(content.checkpointed(lstatSync(path))).toBe(null);
  };
  return { path, database, other, content, check, commit, descriptor };
}

describe("pages", () => {
  it("FileContent.check() knows the writes of SQLite: from the first checkpoint on, by this connection and by others", () => {
    const { check, commit, other } = setUp();
    expect(check()).toBe(null);
    for (let one = 0; one < 3; one++) {
      commit();
      expect(check()).toBe(null);
      commit(other);
      expect(check()).toBe(null);
    }
    for (const act of ["VACUUM", "ANALYZE", "CREATE TABLE theirs (a)"]) {
      other.exec(`${act}; PRAGMA wal_checkpoint(TRUNCATE)`);
      expect(check()).toBe(null);
      commit();
      expect(check()).toBe(null);
    }
  });

  it("FileContent.check() knows a schema that was changed twice, with a checkpoint between", () => {
    for (const acts of [
      ["VACUUM", "ANALYZE"],
      ["CREATE TABLE one (a)", "VACUUM", "VACUUM"],
    ]) {
      const { check, commit, other } = setUp();
      commit();
      expect(check()).toBe(null);
      const [first = "", ...more] = acts;
      other.exec(`${first}; PRAGMA wal_checkpoint(PASSIVE)`);
      for (const act of more) other.exec(act);
      expect(check()).toBe(null);
      commit();
      expect(check()).toBe(null);
    }
  });

  it.each([
    [
      "an older copy by cp",
      (path: string) => copyFileSync(path, `${path}.copy`),
      /older copy or another file/,
    ],
    [
      "a copy by VACUUM INTO",
      (path: string, database: Database) => database.exec(`VACUUM INTO '${path}.copy'`),
      /overwritten/,
    ],
    [
      "such a copy that was used meanwhile",
      (path: string, database: Database) => {
        database.exec(`VACUUM INTO '${path}.copy'`);
        const copy = driver.open(`${path}.copy`);
        copy.exec("PRAGMA journal_mode = WAL");
        copy.close();
        // Without its connection, the file alone is written to.
        writeFileSync(`${path}.copy`, inWalMode(readFileSync(`${path}.copy`)));
      },
      /older copy or another file/,
    ],
    [
      "another inbox",
      (path: string) => {
        const another = connect(`${path}.copy`);
        another.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      },
      /older copy or another file/,
    ],
    ["what is no inbox", (path: string) => writeFileSync(`${path}.copy`, "x"), /overwritten/],
    ["nothing", (path: string) => writeFileSync(`${path}.copy`, ""), /emptied/],
  ])("FileContent.check() tells when %s is written over it", (_what, copy, problem) => {
    const { path, database, check, commit } = setUp();
    commit();
    copy(path, database);
    if (!String(problem).includes("older") || _what === "an older copy by cp") commit();
    expect(check()).toBe(null);
    const bytes = readFileSync(`${path}.copy`);
    writeFileSync(path, bytes);
    expect(check()).toMatch(problem);
    expect(check()).toMatch(problem);
  });

  it.each([0, 1])(
    "FileContent.checkpointed() tells when a checkpoint has gone over an older copy, header and all, and a restart refuses that (%i)",
    (more) => {
      const { path, database, content, commit, descriptor } = setUp();
      commit();
      const copy = readFileSync(path);
      for (let one = 0; one < 2 + more; one++) commit();
      database.exec("BEGIN IMMEDIATE");
      content.raise();
      database.exec("INSERT INTO receiver (name) VALUES ('last'); COMMIT");
      // Between the last look and the checkpoint.
      writeFileSync(path, copy);
      database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      expect(content.checkpointed(lstatSync(path))).toMatch(/older copy or another file/);
      setAside(path);
      expect(() => preparePlace(path, driver, true, descriptor)).toThrow(/is damaged: restore/);
    },
  );

  it("FileContent.raise() waits for the page of the last mark, which a full disk may keep from a checkpoint that wrote the header", () => {
    const { path, database, content, commit } = setUp();
    for (let one = 0; one < 3; one++) commit();
    const mark = (): number =>
      markIn(Number(database.prepare("PRAGMA user_version").get()?.["user_version"]));
    const last = mark();
    const textOf = (of: number): string => `mark ${String(of).padStart(7, "0")}`;
    const raised = (): number => {
      database.exec("BEGIN IMMEDIATE; INSERT INTO receiver (name) VALUES (hex(randomblob(9)))");
      content.raise();
      database.exec("COMMIT");
      return mark() - last;
    };
    const bytes = readFileSync(path);
    const at = bytes.indexOf(textOf(last));
    bytes.write(textOf(last - 2), at);
    writeFileSync(path, bytes);
    expect(raised()).toBe(0);
    content.isDue = true;
    bytes.write(textOf(last), at);
    writeFileSync(path, bytes);
    expect(raised()).toBe(1);
  });

  it("FileContent.check() reads all pages after a change that no checkpoint explains", () => {
    const { path, check, commit } = setUp();
    commit();
    expect(check()).toBe(null);
    const bytes = readFileSync(path);
    bytes.fill(0, 2 * 4_096, 4 * 4_096);
    writeFileSync(path, bytes);
    expect(check()).toBe("overwritten in places");
  });
});

/** The bytes of a file as in WAL mode, also when its last connection has been closed. */
function inWalMode(bytes: Buffer): Buffer {
  bytes.writeUInt16BE(0x0202, 18);
  return bytes;
}
