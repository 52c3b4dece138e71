import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { once, oncePrune, onceTable } from "./once.ts";

const run = () => vi.fn((_sql: string): unknown[] => [{ event: "e-1" }]);

describe("the statements", () => {
  it("once() runs one INSERT without parameters, with the event's id", async () => {
    const ran = run();
    expect(await once(ran, { id: "01k.a_b:c-d" }, "book")).toBe(true);
    expect(ran.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^INSERT INTO reporthook_once \(event, effect, done_at_ms\) VALUES \('01k\.a_b:c-d', 'book', \d{13}\) ON CONFLICT DO NOTHING RETURNING event$/,
        ),
      ],
    ]);
  });

  it("onceTable can be executed again and again, and fits the longest texts", () => {
    expect(onceTable).toMatch(/^CREATE TABLE IF NOT EXISTS reporthook_once .*\(100\).*\(64\)/);
  });

  it("oncePrune() names the moment in a form that no time zone changes", () => {
    const before = new Date("2026-05-01T00:00:00.123+02:00");
    expect(oncePrune(before)).toBe("DELETE FROM reporthook_once WHERE done_at_ms < 1777586400123");
    expect(oncePrune(new Date(-8.64e15))).toMatch(/ < -8640000000000000$/);
  });

  it("oncePrune() takes the Date of another realm", () => {
    expect(oncePrune(runInNewContext("new Date(5)") as Date)).toMatch(/ < 5$/);
  });
});

describe("the answer", () => {
  it.each([
    ["true", "an array with a row", [{ event: "e-1" }]],
    ["true", "a row that is an array", [["e-1"]]],
    ["true", "{ rows } with a row", { rows: [{ event: "e-1" }], rowCount: 1 }],
    ["false", "an empty array", []],
    ["false", "{ rows } without any", { rows: [], rowCount: 0 }],
  ])("once() is %s for %s, now or later", async (first, _what, answer) => {
    const given = answer as unknown[];
    expect(String(await once(() => given, "e-1", "book"))).toBe(first);
    expect(String(await once(async () => given, "e-1", "book"))).toBe(first);
  });

  it("once() rejects with the error of the driver", async () => {
    const failed = new Error("could not serialize access");
    await expect(once(() => Promise.reject(failed), "e-1", "book")).rejects.toBe(failed);
    const thrown = () => {
      throw failed;
    };
    await expect(once(thrown, "e-1", "book")).rejects.toBe(failed);
  });

  it.each([
    ["a count, as of Prisma's $executeRawUnsafe", 1, "$queryRawUnsafe(sql)"],
    ["what run() of SQLite gives", { changes: 1, lastInsertRowid: 1n }, ".prepare(sql).all()"],
    ["a statement that did not run", { all: () => [] }, ".prepare(sql).all()"],
    ["the connection, as exec() gives it", { prepare: () => null }, ".prepare(sql).all()"],
    ["a single row, as get() gives it", { event: "e-1" }, ".prepare(sql).all()"],
    ["nothing", undefined, "pg: (sql) => tx.query(sql)"],
    ["null", null, "postgres.js: (sql) => tx.unsafe(sql)"],
    ["text", "INSERT 0 1", "Drizzle: (sql) => tx.execute(sql)"],
    ["a query that did not run", { sql: "", parameters: [] }, "CompiledQuery.raw(sql)"],
    ["rows that are no list", { rows: 1 }, "Knex: (sql) => tx.raw(sql)"],
    ["rows beside details, as of Sequelize", [[], {}], "not 2 rows"],
  ])("once() rejects %s and names the lambda", async (_what, answer, way) => {
    const rejected = once(() => answer as unknown[], "e-1", "book");
    await expect(rejected).rejects.toThrow(TypeError);
    await expect(rejected).rejects.toThrow(way);
  });
});

describe("bad input", () => {
  const texts = [
    "",
    " ",
    "a b",
    "a'b",
    "a''; DROP TABLE x --",
    "a\\",
    "a\0",
    "a\n",
    "é",
    "ａ",
    "a/b",
    "?",
    "$1",
    undefined,
    null,
    0,
    1,
    true,
    Symbol("a"),
    ["a"],
    { toString: () => "a" },
    Object("a"),
  ];

  it.each(texts.map((text) => [text]))(
    "once() rejects the event %j and runs nothing",
    async (text) => {
      const ran = run();
      const events = typeof text === "object" && text !== null ? [text] : [text, { id: text }];
      for (const event of events) {
        const rejected = once(ran, event as string, "book");
        await expect(rejected).rejects.toThrow(TypeError);
        await expect(rejected).rejects.toThrow(/^once: event(\.id)? must be /);
      }
      expect(ran).not.toHaveBeenCalled();
    },
  );

  it.each(texts.map((text) => [text]))(
    "once() rejects the effect %j and runs nothing",
    async (text) => {
      const ran = run();
      const rejected = once(ran, "e-1", text as string);
      await expect(rejected).rejects.toThrow(TypeError);
      await expect(rejected).rejects.toThrow(/^once: effect must be /);
      expect(ran).not.toHaveBeenCalled();
    },
  );

  it("once() takes 100 characters of an event and 64 of an effect, and no more", async () => {
    const ran = run();
    await once(ran, "e".repeat(100), "f".repeat(64));
    expect(ran).toHaveBeenCalledTimes(1);
    await expect(once(ran, "e".repeat(101), "f")).rejects.toThrow("1 to 100");
    await expect(once(ran, { id: "e".repeat(101) }, "f")).rejects.toThrow("1 to 100");
    await expect(once(ran, "e", "f".repeat(65))).rejects.toThrow("1 to 64");
    expect(ran).toHaveBeenCalledTimes(1);
  });

  it.each([undefined, null, "INSERT", {}])("once() rejects the run %j", async (given) => {
    const rejected = once(given as unknown as () => [], "e-1", "book");
    await expect(rejected).rejects.toThrow(TypeError);
    await expect(rejected).rejects.toThrow("once: run must be a function");
  });

  it.each([
    ["an object", new Date(Number.NaN)],
    ["1777586400123", 1_777_586_400_123],
    ['"2026-05-01"', "2026-05-01"],
    ["undefined", undefined],
    ["an object", { getTime: (): number => 5 }],
  ])("oncePrune() throws for %s", (shown, before) => {
    expect(() => oncePrune(before as Date)).toThrow(TypeError);
    expect(() => oncePrune(before as Date)).toThrow(`must be a valid Date, not ${shown}`);
  });

  it("once() never runs SQL with more quotes than its own, or other than letters, digits and _.:- in them", async () => {
    const near = fc.string({ unit: fc.constantFrom("a", "Z", "_", "-", "'"), maxLength: 9 });
    const text = fc.oneof(fc.string({ unit: "binary-ascii" }), near);
    await fc.assert(
      fc.asyncProperty(text, text, fc.boolean(), async (event, effect, isObject) => {
        const ran = run();
        await once(ran, isObject ? { id: event } : event, effect).catch(() => false);
        for (const [sql] of ran.mock.calls) {
          expect(sql.match(/'[\w.:-]+'/g)).toEqual([`'${event}'`, `'${effect}'`]);
          expect(sql.split("'")).toHaveLength(5);
        }
      }),
    );
  });

  it("once() reads the id of an event once, so that it inserts the id that it checked", async () => {
    const ids = ["e-1", "'; DROP TABLE bookings --"];
    const event = {
      get id() {
        return ids.shift() ?? "";
      },
    };
    const ran = run();
    await once(ran, event, "book");
    expect(ran.mock.calls[0]?.[0]).toContain("'e-1'");
  });
});
