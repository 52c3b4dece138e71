import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { lastNumber } from "../writer-thread/counters.ts";
import { type Database, loadDriver } from "./driver.ts";
import { migrations, prepareSchema } from "./migrations.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-schema-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

function opened(): { readonly database: Database; readonly path: string } {
  const path = join(folder, `${++files}.db`);
  return { database: loadDriver().open(path), path };
}

const one = ["CREATE TABLE first (number INTEGER)"];
const two = [...one, "ALTER TABLE first ADD COLUMN text TEXT DEFAULT 'kept'"];

describe("schema", () => {
  it("prepareSchema() makes the schema that is kept for review", async () => {
    const { database, path } = opened();
    prepareSchema(database, path, true);
    const tables = database.prepare(
      "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
    );
    const text = tables.all().map(({ sql }) => `${sql};\n`);
    const header = `-- Version ${migrations.length}, as SQLite tells it.\n`;
    await expect([header, ...text].join("\n")).toMatchFileSnapshot("../../schema.sql");
    database.close();
  });

  it("prepareSchema() brings an older file to this version, with what is in it, once", () => {
    const { database, path } = opened();
    prepareSchema(database, path, true, one);
    database.exec("INSERT INTO first VALUES (7)");
    prepareSchema(database, path, true, two);
    prepareSchema(database, path, true, two);
    expect({ ...database.prepare("SELECT * FROM first").get() }).toEqual({
      number: 7,
      text: "kept",
    });
    database.close();
  });

  it("prepareSchema() keeps the last number that an older file has given", () => {
    for (const [receivers, last] of [
      [["a", "b"], 41],
      [[], 0],
    ] as const) {
      const { database, path } = opened();
      prepareSchema(database, path, true, migrations.slice(0, 3));
      for (const name of receivers) {
        database.prepare("INSERT INTO receiver (name) VALUES (?)").run(name);
      }
      database.prepare("UPDATE numbered SET last = ?").run(last);
      prepareSchema(database, path, true);
      expect(lastNumber(database)).toBe(last);
      database.close();
    }
  });

  it("prepareSchema() leaves a file as it is when a migration fails", () => {
    const { database, path } = opened();
    prepareSchema(database, path, true, one);
    expect(() => prepareSchema(database, path, true, [...two, "CREATE TABLE first (a)"])).toThrow();
    const columns = database.prepare("SELECT count(*) AS number FROM pragma_table_info('first')");
    expect(columns.get()?.["number"]).toBe(1);
    prepareSchema(database, path, true, two);
    database.close();
  });

  it("prepareSchema() refuses a newer file, an older or empty one that it may not change, and another application's", () => {
    const { database, path } = opened();
    expect(() => prepareSchema(database, path, false)).toThrow(
      /is no inbox yet: let the app open it/,
    );
    prepareSchema(database, path, true, one);
    expect(() => prepareSchema(database, path, false, two)).toThrow(/written by an older version/);
    prepareSchema(database, path, true, two);
    prepareSchema(database, path, false, two);
    expect(() => prepareSchema(database, path, true, one)).toThrow(
      /written by a newer version of @reporthook\/sqlite \(2, this one knows 1\): update/,
    );
    database.close();
    const other = opened();
    other.database.exec("CREATE TABLE theirs (a)");
    const { size } = statSync(other.path);
    expect(() => prepareSchema(other.database, other.path, true)).toThrow(/another application/);
    expect(statSync(other.path).size).toBe(size);
    other.database.close();
  });

  it("prepareSchema() lets another process be faster, between any two looks at the file", () => {
    const { database, path } = opened();
    const faster = loadDriver().open(path);
    for (const connection of [database, faster]) {
      connection.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 0");
    }
    prepareSchema(
      afterFirstLook(database, () => prepareSchema(faster, path, true)),
      path,
      true,
    );
    expect(database.prepare("SELECT count(*) AS number FROM delivery").get()?.["number"]).toBe(0);
    faster.close();
    database.close();
  });
});

/** The same database, with something done after the first look. */
function afterFirstLook(database: Database, act: () => void): Database {
  let isFirst = true;
  return {
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        run: (...values) => statement.run(...values),
        all: (...values) => statement.all(...values),
        get: (...values) => {
          const row = statement.get(...values);
          if (isFirst) {
            isFirst = false;
            act();
          }
          return row;
        },
      };
    },
  };
}
