import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Script, startScript } from "@reporthook/test-support/script";
import { temporaryFolder, temporaryPath } from "@reporthook/test-support/temporary";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Database, type Driver, loadDriver, type ModuleSource, type Value } from "./driver.ts";
import { sqliteCode } from "./result-code.ts";

const folder = temporaryFolder();

function canLoad(name: string): boolean {
  try {
    loadDriver(name);
    return true;
  } catch {
    return false;
  }
}

const known = ["node:sqlite", "libsql", "better-sqlite3"];
const drivers = known.filter(canLoad).map((name) => loadDriver(name));

function codeOf(work: () => unknown): string | null {
  try {
    work();
  } catch (error) {
    return sqliteCode(error);
  }
  throw new Error("It should have failed");
}

describe.each(drivers)("the driver $name", (driver) => {
  const opened: Database[] = [];
  let path: string;
  let database: Database;

  function open(from: Driver = driver, file: string = path): Database {
    const connection = from.open(file);
    opened.push(connection);
    connection.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=0");
    return connection;
  }

  beforeEach(() => {
    path = temporaryPath();
    database = open();
    database.exec("CREATE TABLE blobs (id INTEGER PRIMARY KEY, value BLOB UNIQUE); SELECT 1");
  });

  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close();
  });

  it.each<[string, Value, string, Value]>([
    ["null", null, "null", null],
    ["zero", 0, "integer", 0],
    ["minus zero", -0, "integer", 0],
    ["a time in milliseconds", 1_763_735_700_000, "integer", 1_763_735_700_000],
    ["2^51 - 1", 2 ** 51 - 1, "integer", 2 ** 51 - 1],
    ["a fraction", 1.5, "real", 1.5],
    ["text", "zażółć 😀", "text", "zażółć 😀"],
    ["empty text", "", "text", ""],
    ["text with NUL", "a\0b", "text", "a\ufffdb"],
    ["text with a lone surrogate", "a\ud800b", "text", "a\ufffdb"],
    ["bytes", Uint8Array.of(0, 1, 255), "blob", Uint8Array.of(0, 1, 255)],
    ["part of a buffer", Uint8Array.of(9, 1, 2, 9).subarray(1, 3), "blob", Uint8Array.of(1, 2)],
    ["a Buffer", Buffer.from("hi"), "blob", Uint8Array.of(104, 105)],
    ["no bytes", new Uint8Array(0), "blob", new Uint8Array(0)],
  ])("a driver gives back %s", (_, value, type, expected) => {
    database.exec("CREATE TABLE kept (v INTEGER)");
    database.prepare("INSERT INTO kept VALUES (?)").run(value);
    const select = database.prepare("SELECT v, typeof(v) AS t FROM kept WHERE v IS ?");
    for (const row of [select.get(value), ...select.all(value)]) {
      expect({ ...row }).toEqual({ v: expected, t: type });
      expect(Buffer.isBuffer(row?.["v"])).toBe(false);
    }
  });

  it.each([true, undefined, 1n, {}, new ArrayBuffer(1)])("a driver refuses to bind %s", (value) => {
    const select = database.prepare("SELECT ? AS v");
    expect(() => select.get(value as never)).toThrow(TypeError);
    expect(select.get(1)?.["v"]).toBe(1);
  });

  it("a driver counts changes and reads rows", () => {
    const insert = database.prepare("INSERT INTO blobs (value) VALUES (?) ON CONFLICT DO NOTHING");
    expect([7, 8, 7].map((byte) => Number(insert.run(Uint8Array.of(byte)).changes))).toEqual([
      1, 1, 0,
    ]);
    expect(database.prepare("SELECT id FROM blobs WHERE id = ?").get(9)).toBeUndefined();
    expect(database.prepare("SELECT id FROM blobs WHERE id = ?").all(9)).toEqual([]);
    const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?)";
    expect(database.prepare(`${many} SELECT i FROM n`).all(250)).toHaveLength(250);
  });

  it("a driver ends a statement that get() read, so that its transaction can end", () => {
    database.exec("BEGIN IMMEDIATE");
    const insert = database.prepare("INSERT INTO blobs (value) VALUES (?) RETURNING id");
    expect(insert.get(Uint8Array.of(1))?.["id"]).toBe(1);
    expect(insert.all(Uint8Array.of(2)).map((row) => row["id"])).toEqual([2]);
    database.exec("COMMIT");
    const reader = open();
    expect(reader.prepare("SELECT id FROM blobs ORDER BY id").get()?.["id"]).toBe(1);
    const checkpoint = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    expect(checkpoint?.["busy"]).toBe(0);
  });

  it("a driver uses a statement again after it failed", () => {
    const insert = database.prepare("INSERT INTO blobs (value) VALUES (?)");
    const returning = database.prepare("INSERT INTO blobs (value) VALUES (?) RETURNING id");
    insert.run(Uint8Array.of(1));
    database.exec("BEGIN");
    expect(codeOf(() => insert.run(Uint8Array.of(1)))).toBe("CONSTRAINT");
    expect(codeOf(() => returning.get(Uint8Array.of(1)))).toBe("CONSTRAINT");
    expect(Number(insert.run(Uint8Array.of(2)).changes)).toBe(1);
    expect(returning.get(Uint8Array.of(3))?.["id"]).toBe(3);
    database.exec("COMMIT");
    expect(database.prepare("SELECT count(*) AS n FROM blobs").get()?.["n"]).toBe(3);
  });

  it("a driver says BUSY when another connection writes, and writes when it has ended", () => {
    const other = open();
    const insert = other.prepare("INSERT INTO blobs (value) VALUES (?)");
    database.exec("BEGIN IMMEDIATE");
    expect(codeOf(() => other.exec("BEGIN IMMEDIATE"))).toBe("BUSY");
    expect(codeOf(() => insert.run(Uint8Array.of(1)))).toBe("BUSY");
    database.exec("COMMIT");
    expect(Number(insert.run(Uint8Array.of(1)).changes)).toBe(1);
  });

  it("a driver waits for a writer of another process", async () => {
    const writer = (work: string): Script =>
      startChild(`
        const database = loadDriver(${JSON.stringify(driver.name)}).open(${JSON.stringify(path)});
        database.exec("PRAGMA busy_timeout=30000");
        ${work}
        database.exec("INSERT INTO blobs DEFAULT VALUES; COMMIT");
        database.close();
      `);
    const first = writer(`
      database.exec("BEGIN IMMEDIATE");
      process.stdout.write("begun");
      await new Promise((resolve) => process.stdin.once("data", resolve));
    `);
    await first.said();
    const second = writer(`
      process.stdout.write("waits");
      database.exec("BEGIN IMMEDIATE");
    `);
    await second.said();
    first.stdin.end("end");
    expect((await Promise.all([first.ended, second.ended])).map(({ code }) => code)).toEqual([
      0, 0,
    ]);
    expect(database.prepare("SELECT count(*) AS n FROM blobs").get()?.["n"]).toBe(2);
  });

  it("a driver reads the files of every other driver", () => {
    for (const other of drivers) {
      const writer = open(other);
      writer.prepare("INSERT INTO blobs (value) VALUES (?)").run(Buffer.from(other.name));
    }
    const rows = database.prepare("SELECT value FROM blobs ORDER BY id").all();
    expect(rows.map((row) => String(Buffer.from(row["value"] as Uint8Array)))).toEqual(
      drivers.map(({ name }) => name),
    );
  });

  it("a driver names READONLY, CANTOPEN, NOTADB and CORRUPT", () => {
    const other = open();
    other.exec("PRAGMA query_only=1");
    expect(codeOf(() => other.exec("DELETE FROM blobs"))).toBe("READONLY");
    expect(codeOf(() => driver.open(join(folder, "absent", "file.db")))).toBe("CANTOPEN");
    expect(codeOf(() => driver.open(folder))).toBe("CANTOPEN");

    const text = temporaryPath();
    writeFileSync(text, "Not a database, but long enough to be looked at. ".repeat(100));
    expect(codeOf(() => open(driver, text))).toBe("NOTADB");

    const broken = temporaryPath();
    const connection = driver.open(broken);
    connection.exec("CREATE TABLE lines (text); CREATE INDEX by_text ON lines (text); BEGIN");
    const insert = connection.prepare("INSERT INTO lines VALUES (?)");
    for (let i = 0; i < 2000; i++) insert.run(`line ${i}`);
    connection.exec("COMMIT");
    connection.close();
    writeFileSync(broken, readFileSync(broken).fill(0xab, 4096, 8 * 4096));
    const again = open(driver, broken);
    expect(codeOf(() => again.prepare("SELECT * FROM lines").all())).toBe("CORRUPT");
    expect(codeOf(() => again.prepare("INSERT INTO lines VALUES (?)").run("x"))).toBe("CORRUPT");
  });

  it("a driver names FULL, and writes again when there is room", () => {
    database.exec("PRAGMA max_page_count=10");
    const insert = database.prepare("INSERT INTO blobs (value) VALUES (?)");
    expect(codeOf(() => insert.run(new Uint8Array(100_000)))).toBe("FULL");
    database.exec("PRAGMA max_page_count=1000");
    expect(Number(insert.run(new Uint8Array(100_000)).changes)).toBe(1);
  });

  it("a driver takes no path for a URI", () => {
    const cwd = process.cwd();
    const name = "file:é ü #%20?mode=memory.db";
    mkdirSync(join(folder, driver.name));
    process.chdir(join(folder, driver.name));
    try {
      open(driver, name).exec("CREATE TABLE t (a)");
    } finally {
      process.chdir(cwd);
    }
    expect(readFileSync(join(folder, driver.name, name)).length).toBeGreaterThan(0);
  });
});

describe("choice", () => {
  class Fake {
    exec(): void {}
    prepare(): never {
      throw new Error("not here");
    }
    close(): void {}
  }
  const source = (there: Record<string, unknown>): ModuleSource => ({
    builtin: (name) => there[name],
    installed: (name) => {
      const module = there[name];
      if (module === undefined) return undefined;
      const load = (): unknown => {
        if (module instanceof Error) throw module;
        return module;
      };
      return { file: `/app/${name}.js`, load };
    },
  });

  it("loadDriver() prefers the runtime's driver, and takes libsql else", () => {
    const both = { "node:sqlite": { DatabaseSync: Fake }, libsql: Fake };
    expect(loadDriver(undefined, source(both)).name).toBe("node:sqlite");
    expect(loadDriver("libsql", source(both)).name).toBe("libsql");
    expect(loadDriver(undefined, source({ libsql: Fake })).name).toBe("libsql");
    expect(loadDriver("another", source({ another: { default: Fake } })).name).toBe("another");
  });

  it.each([
    [
      undefined,
      /^There is no SQLite in v\d.*libsql is found from none of .*Node 22\.13 or later.*run: npm install libsql$/,
    ],
    ["node:sqlite", /^There is no node:sqlite in v\d.*run: npm install libsql$/],
    ["libsql", /^The SQLite driver "libsql" is found from none of .+\. Run: npm install libsql$/],
    [
      "other",
      /is found from none of .+\. Tried are node:sqlite, libsql and better-sqlite3; is other the /,
    ],
  ])("loadDriver() says what to install when %s is not there", (name, message) => {
    expect(() => loadDriver(name, source({}))).toThrow(
      expect.objectContaining({ code: "inbox_failed", message: expect.stringMatching(message) }),
    );
  });

  it("loadDriver() says what is wrong with a driver that doesn't load", () => {
    const broken = new Error("was compiled against another version\nof Node");
    expect(() => loadDriver(undefined, source({ libsql: broken }))).toThrow(
      expect.objectContaining({
        code: "inbox_failed",
        cause: broken,
        message: expect.stringMatching(/can't be loaded: was compiled against another version\. /),
      }),
    );
  });

  it("loadDriver() says that a part is missing of a driver that was copied without it", () => {
    const partial = new Error("Cannot find module '@libsql/linux-x64-gnu'\nRequire stack:");
    const modules = source({ libsql: Object.assign(partial, { code: "MODULE_NOT_FOUND" }) });
    expect(() => loadDriver(undefined, modules)).toThrow(
      /"libsql" is installed and can't be loaded: Cannot find .*-gnu'\. Copy all of it, its native part/,
    );
  });

  it("loadDriver() names the option of Node that forbids native parts", () => {
    const disabled = new Error("Cannot load native addon because loading addons is disabled.");
    const modules = source({ libsql: Object.assign(disabled, { code: "ERR_DLOPEN_DISABLED" }) });
    expect(() => loadDriver(undefined, modules)).toThrow(
      /addons is disabled\. Start Node without --no-addons, or --permission with --allow-addons$/,
    );
  });

  it("loadDriver() throws TypeError for a value that is no driver", () => {
    expect(() => loadDriver("", source({}))).toThrow(TypeError);
    expect(() => loadDriver(5 as never, source({}))).toThrow(TypeError);
    expect(() => loadDriver("path", source({ path: { join } }))).toThrow(TypeError);
  });

  it("loadDriver() finds a driver that the application has installed", async () => {
    const application = mkdtempSync(join(folder, "application-"));
    const module = join(application, "node_modules", "of-the-application");
    mkdirSync(module, { recursive: true });
    writeFileSync(join(module, "index.js"), "module.exports = class Database {};");
    expect(canLoad("of-the-application")).toBe(false);
    const child = startChild(
      `process.stdout.write(loadDriver("of-the-application").name)`,
      application,
    );
    expect((await child.ended).stdout).toBe("of-the-application");
  });

  it("loadDriver() prints no warning, and leaves the warnings of others", async () => {
    const { stdout, stderr } = await startChild(`
      process.stdout.write(loadDriver().name);
      process.emitWarning("a warning of the application");
    `).ended;
    expect(stdout).toBe(drivers[0]?.name);
    expect(stderr).not.toMatch(/SQLite/);
    expect(stderr).toMatch(/a warning of the application/);
  });
});

describe("codes", () => {
  it.each([
    [{ errcode: 2067 }, "CONSTRAINT"],
    [{ rawCode: 4874, code: "SQLITE_IOERR_SHMSIZE" }, "IOERR"],
    [{ code: "SQLITE_IOERR_FSYNC" }, "IOERR"],
    [{ code: "SQLITE_FULL" }, "FULL"],
    [{ code: "ENOENT" }, null],
    [{ code: "SQLITE_NEWS" }, null],
    [new Error("Cannot open database because the directory does not exist"), "CANTOPEN"],
    [new Error("Too many open files (os error 24)"), "CANTOPEN"],
    [new Error("something else"), null],
    [null, null],
    ["SQLITE_FULL", null],
  ])("sqliteCode() reads %o as %s", (error, code) => {
    expect(sqliteCode(error)).toBe(code);
  });
});

/** A process that runs lines of JavaScript with `loadDriver` at hand. */
function startChild(work: string, cwd: string = folder): Script {
  const url = JSON.stringify(new URL("./driver.ts", import.meta.url).href);
  return startScript(`const { loadDriver } = await import(${url});\n${work}`, { cwd });
}
