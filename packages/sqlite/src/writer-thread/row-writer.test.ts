import { expect, it } from "vitest";
import { type Database, loadDriver } from "../database/driver.ts";
import { RowWriter } from "./row-writer.ts";

function table(): Database {
  const database = loadDriver().open(":memory:");
  database.exec("CREATE TABLE made (number INTEGER, name TEXT, bytes BLOB, rest TEXT)");
  return database;
}

it.each([0, 1, 2, 3, 31, 32, 33, 100])(
  "RowWriter writes %i rows with values that differ, are shared, or null in some or all",
  (count) => {
    const database = table();
    const writer = new RowWriter(database, "INSERT INTO made");
    for (const name of ["one", null]) {
      const rows = Array.from({ length: count }, (_, number) => {
        const bytes = number % 2 === 0 ? null : new Uint8Array([number]);
        return { number, name, bytes, rest: number < 50 ? "some" : "more" };
      });
      for (const row of rows) writer.add(row);
      writer.write();
      expect(database.prepare("SELECT * FROM made ORDER BY number").all()).toEqual(rows);
      database.exec("DELETE FROM made");
    }
    database.close();
  },
);

it("RowWriter writes a row for each of equal ones", () => {
  const database = table();
  const writer = new RowWriter(database, "INSERT INTO made");
  for (let row = 0; row < 3; row++) writer.add({ number: null, name: "one" });
  writer.write();
  expect(database.prepare("SELECT number, name FROM made").all()).toEqual(
    new Array(3).fill({ number: null, name: "one" }),
  );
  database.close();
});

it("RowWriter.clear() drops the rows that were not written", () => {
  const database = table();
  const writer = new RowWriter(database, "INSERT INTO made");
  writer.add({ number: 1 });
  writer.clear();
  writer.write();
  writer.add({ number: 2 });
  writer.write();
  expect(database.prepare("SELECT number FROM made").all()).toEqual([{ number: 2 }]);
  database.close();
});

it("RowWriter writes rows of more shapes than it keeps statements for", () => {
  const database = table();
  const names = Array.from({ length: 6 }, (_, at) => `c${at}`);
  database.exec(`CREATE TABLE wide (${names.join(", ")})`);
  const writer = new RowWriter(database, "INSERT INTO wide");
  for (let shape = 0; shape < 3 ** names.length; shape++) {
    const kinds = names.map((name, at) => [name, Math.floor(shape / 3 ** at) % 3] as const);
    const rows = [0, 1].map((row) =>
      Object.fromEntries(kinds.map(([name, kind]) => [name, kind === 2 ? null : kind * row])),
    );
    if (kinds.every(([, kind]) => kind !== 1)) continue;
    for (const row of rows) writer.add(row);
    writer.write();
    expect(database.prepare("SELECT * FROM wide ORDER BY rowid").all()).toEqual(rows);
    database.exec("DELETE FROM wide");
  }
  database.close();
});
