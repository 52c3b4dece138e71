import { statSync } from "node:fs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { watched } from "@reporthook/test-support/watched-database";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Database, loadDriver } from "./driver.ts";
import { prepareSchema } from "./schema.ts";

function opened(): { readonly database: Database; readonly path: string } {
  const path = temporaryPath();
  const database = loadDriver().open(path);
  onTestFinished(() => database.close());
  return { database, path };
}

describe("schema", () => {
  it("prepareSchema() makes the schema that is kept for review", async () => {
    const { database, path } = opened();
    prepareSchema(database, path, true);
    const tables = database.prepare(
      "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
    );
    const text = tables.all().map(({ sql }) => `${sql};\n`);
    await expect(["-- As SQLite tells it.\n", ...text].join("\n")).toMatchFileSnapshot(
      "../../schema.sql",
    );
  });

  it("prepareSchema() makes nothing twice, and nothing of what it could not make whole", () => {
    const { database, path } = opened();
    const broken: Database = {
      ...database,
      exec: (sql) => {
        if (sql.includes("application_id")) throw new Error("out of order");
        return database.exec(sql);
      },
    };
    expect(() => prepareSchema(broken, path, true)).toThrow("out of order");
    expect(statSync(path).size).toBe(0);
    prepareSchema(database, path, true);
    database.exec("INSERT INTO receiver (name) VALUES ('kept')");
    prepareSchema(database, path, true);
    expect(database.prepare("SELECT name FROM receiver").get()?.["name"]).toBe("kept");
  });

  it.each([
    [1, /written by a newer version of @reporthook\/sqlite \(\d+, this one knows \d+\): update/],
    [-1, /written by an older version of .*: let the older one work off .*, then name a new file/],
  ])("prepareSchema() refuses a file of a version %i away, unchanged", (by, why) => {
    const { database, path } = opened();
    prepareSchema(database, path, true);
    const version = () => Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    const other = version() + by;
    database.exec(`PRAGMA user_version = ${other}`);
    for (const mayMake of [true, false]) {
      expect(() => prepareSchema(database, path, mayMake)).toThrow(why);
    }
    expect(version()).toBe(other);
  });

  it("prepareSchema() refuses an empty file that it may not change, and another application's", () => {
    const { database, path } = opened();
    expect(() => prepareSchema(database, path, false)).toThrow(
      /is no inbox yet: let the app open it/,
    );
    prepareSchema(database, path, true);
    prepareSchema(database, path, false);
    const other = opened();
    other.database.exec("CREATE TABLE theirs (a)");
    const { size } = statSync(other.path);
    expect(() => prepareSchema(other.database, other.path, true)).toThrow(/another application/);
    expect(statSync(other.path).size).toBe(size);
  });

  it("prepareSchema() lets another process be faster, between any two looks at the file", () => {
    const { database, path } = opened();
    const faster = loadDriver().open(path);
    for (const connection of [database, faster]) {
      connection.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 0");
    }
    let looks = 0;
    const slow = watched(database, (_, use) => {
      // Between the first look and what comes next.
      if (looks === 1) prepareSchema(faster, path, true);
      if (looks > 0 || use === "get") looks++;
    });
    prepareSchema(slow, path, true);
    expect(database.prepare("SELECT count(*) AS number FROM delivery").get()?.["number"]).toBe(0);
    faster.close();
  });
});
