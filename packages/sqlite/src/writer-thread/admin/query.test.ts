import type { InboxQuery } from "@reporthook/core";
import { idAt, minuteMs } from "@reporthook/core/store";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { watched } from "@reporthook/test-support/watched-database";
import { afterAll, expect, test } from "vitest";
import { loadDriver } from "../../database/driver.ts";
import { prepareSchema } from "../../database/schema.ts";
import type { ListPosition } from "../../protocol/operations.ts";
import { Deliveries } from "../deliveries.ts";
import { Query } from "./query.ts";

const path = temporaryPath();
const database = loadDriver(undefined).open(path);
prepareSchema(database, path, true);
afterAll(() => database.close());

const year = 365 * 1_440 * minuteMs;

const queries: InboxQuery[] = [
  {},
  { newestFirst: true },
  { state: "parked", newestFirst: true },
  { type: "report.complete" },
  { type: "report.complete", state: "handled", newestFirst: true },
  { type: "report.complete", state: "dead" },
  { reportId: "r-1", newestFirst: true },
  { reportId: "r-1", type: "unknown", state: "parked" },
  { reason: "poison", newestFirst: true },
  { reason: "poison", state: "dead", type: "unknown" },
  { error: "e", newestFirst: true },
  { error: "e", state: "parked", reason: "poison" },
  { from: new Date(1), until: new Date(2), newestFirst: true },
  { idPrefix: "01", after: "01m", newestFirst: true },
];

test("summary() asks for the minutes in which something came, not for each of a year", () => {
  const receiver = new Deliveries(database).receivers.idOf("b");
  const times = [5 * minuteMs, 5 * minuteMs + 1, year / 2, year - 1];
  for (const [index, at] of times.entries()) {
    database.exec(
      `INSERT INTO delivery (id, receiver, arrived_at, state, url, headers)
       VALUES ('${idAt(at)}${index}', ${receiver}, ${at}, ${index % 2}, '/', '{}')`,
    );
  }
  let asked = 0;
  const counting = watched(database, (_, use) => {
    if (use === "get" || use === "all") asked++;
  });
  const query = new Query(new Deliveries(counting));
  asked = 0;
  const span = { from: new Date(0), until: new Date(year) };
  const { minutes } = query.summary({ receiver: "b", ...span });
  const minute = (at: number) => at - (at % minuteMs);
  expect(minutes.map(({ at, counts }) => [at.getTime(), counts.received, counts.verified])).toEqual(
    [
      [5 * minuteMs, 1, 1],
      [minute(year / 2), 1, 0],
      [minute(year - 1), 0, 1],
    ],
  );
  expect(asked).toBeLessThan(200);
});

test("list() finds the few handled ones of a receiver among many of others, looking at some in each step", () => {
  const { receivers } = new Deliveries(database);
  const [many, few] = [receivers.idOf("many"), receivers.idOf("few")];
  const span = { from: new Date(2 * year), until: new Date(3 * year) };
  database.exec(
    `WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 49999)
     INSERT INTO delivery (id, receiver, arrived_at, state, type, url, headers)
     SELECT '${idAt(2 * year)}' || (100000 + i), iif(i IN (10, 30000, 49999), ${few}, ${many}), 0, 2,
       iif(i = 30000, 'unknown', 'report.complete'), '/', '{}' FROM n`,
  );
  const query = new Query(new Deliveries(database));
  const found = (asked: InboxQuery, limit: number): string[][] => {
    const steps: string[][] = [];
    let from: ListPosition | null = null;
    do {
      const step: ReturnType<Query["list"]> = query.list({ ...asked, ...span, limit }, from);
      steps.push(step.entries.map(({ id }) => id.slice(-5)));
      from = step.next;
    } while (from !== null);
    return steps;
  };
  const all = { receiver: "few", state: "handled" } as const;
  expect(found(all, 9)).toEqual([["00010"], ["30000"], ["49999"]]);
  expect(found({ ...all, newestFirst: true }, 9)).toEqual([["49999", "30000"], [], ["00010"]]);
  expect(found({ ...all, newestFirst: true }, 1)).toEqual([["49999"]]);
  expect(found(all, 2)).toEqual([["00010"], ["30000"]]);
  expect(found({ type: "unknown" }, 9).flat()).toEqual(["30000"]);
  const { minutes } = query.summary({ receiver: "few", ...span });
  expect(minutes.map(({ counts }) => counts.handled)).toEqual([3]);
  database.exec(
    "DELETE FROM delivery WHERE receiver IN (SELECT number FROM receiver WHERE name IN ('few', 'many'))",
  );
});

test("a Query finds and counts through an index, without scanning, and sorts none but leased ones", () => {
  const asked = new Set<string>();
  const noting = watched(database, (sql) => void asked.add(sql));
  const deliveries = new Deliveries(noting);
  deliveries.receivers.idOf("a");
  const query = new Query(deliveries);
  asked.clear();
  for (const one of queries) query.list({ receiver: "a", limit: 1, ...one }, null);
  query.summary({ receiver: "a", from: new Date(0), until: new Date(180_000) });
  expect(asked.size).toBeGreaterThan(queries.length);
  for (const sql of asked) {
    // It has one row.
    if (sql.endsWith("FROM lived")) continue;
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`);
    const places = Array.from({ length: sql.split("?").length - 1 }, () => 0);
    const steps = plan.all(...places).map(({ detail }) => String(detail));
    const isSorted = sql.includes("delivery_queue") && sql.includes("ORDER BY");
    const sorted = isSorted ? ["USE TEMP B-TREE FOR ORDER BY"] : [];
    expect(steps.toSpliced(0, 1), sql).toEqual(sorted);
    expect(steps[0], sql).toMatch(/^SEARCH delivery USING .*INDEX/);
  }
});
