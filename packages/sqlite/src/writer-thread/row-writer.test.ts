import { expect, it, onTestFinished } from "vitest";
import { type Database, loadDriver } from "../database/driver.ts";
import { RowWriter } from "./row-writer.ts";

function table(): Database {
  const database = loadDriver().open(":memory:");
  database.exec("CREATE TABLE made (number INTEGER, bytes BLOB, name TEXT, rest TEXT)");
  onTestFinished(() => database.close());
  return database;
}

it.each([0, 1, 2, 3, 15, 16, 17, 100])(
  "RowWriter writes %i rows, whose common values are the same or differ",
  (count) => {
    const database = table();
    const writer = new RowWriter(database, "INSERT INTO made");
    for (const rests of [["some"], [null], ["some", null], ["some", "more"]]) {
      const rows = Array.from({ length: count }, (_, number) => {
        const bytes = number % 3 === 0 ? null : new Uint8Array([number]);
        return { number, bytes, name: "one", rest: rests[number % rests.length] ?? null };
      });
      for (const { number, bytes, ...common } of rows) writer.add({ number, bytes }, common);
      writer.write();
      expect(database.prepare("SELECT * FROM made ORDER BY number").all()).toEqual(rows);
      database.exec("DELETE FROM made");
    }
  },
);

it("RowWriter writes a row for each of equal ones", () => {
  const database = table();
  const writer = new RowWriter(database, "INSERT INTO made");
  for (let row = 0; row < 3; row++) writer.add({ number: null }, { name: "one" });
  writer.write();
  const rows = database.prepare("SELECT number, name FROM made").all();
  expect(rows).toEqual(new Array(3).fill({ number: null, name: "one" }));
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
});

it("RowWriter prepares a statement for each number of rows and for what they share, whatever comes", () => {
  const database = table();
  const prepared: string[] = [];
  const counting: Database = {
    ...database,
    prepare(sql) {
      prepared.push(sql);
      return database.prepare(sql);
    },
  };
  const writer = new RowWriter(counting, "INSERT INTO made");
  for (let round = 0; round < 300; round++) {
    for (let number = 0; number < round % 40; number++) {
      writer.add({ number }, { name: String(number % (1 + (round % 3))), rest: null });
    }
    writer.write();
  }
  expect(prepared.length).toBeLessThanOrEqual(10);
});
