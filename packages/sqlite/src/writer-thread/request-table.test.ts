import { temporaryPath } from "@reporthook/test-support/temporary";
import { watched } from "@reporthook/test-support/watched-database";
import { storedRequest } from "@reporthook/testing/internals";
import { afterAll, expect, test } from "vitest";
import { loadDriver } from "../database/driver.ts";
import { prepareSchema } from "../database/schema.ts";
import { Deliveries } from "./deliveries.ts";
import { RequestTable } from "./request-table.ts";

const path = temporaryPath();
const database = loadDriver().open(path);
prepareSchema(database, path, true);
afterAll(() => database.close());

test("a RequestTable finds requests through an index that has no others, and sorts none", () => {
  const asked = new Set<string>();
  const deliveries = new Deliveries(watched(database, (sql) => void asked.add(sql)));
  deliveries.receivers.idOf("a");
  const requests = new RequestTable(deliveries);
  asked.clear();
  requests.list({ receiver: "a", state: "open", limit: 9 });
  requests.list({ receiver: "a", state: "overdue", limit: 9, newestFirst: true });
  requests.due("a", 1, 9);
  requests.prune({ handledMs: 1, parkedMs: 1 }, 1, 9);
  const plans = [...asked].map((sql) => {
    const places = Array.from({ length: sql.split("?").length - 1 }, () => 0);
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...places);
    return steps.map(({ detail }) => String(detail)).filter((step) => !step.includes("delivery"));
  });
  expect(plans.map(([first]) => first)).toEqual([
    expect.stringContaining("INDEX request_state (receiver=? AND state=? AND id>?)"),
    expect.stringContaining("INDEX request_overdue (receiver=? AND id<?)"),
    expect.stringContaining("INDEX request_due (receiver=? AND due_at<?)"),
    expect.stringContaining("INDEX request_settled (settled_at<?)"),
    expect.stringContaining("INDEX request_overdue"),
  ]);
  expect(plans.flat().filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
});

test("a RequestTable keeps an answer that is nested deeper than SQLite reads JSON", () => {
  const requests = new RequestTable(new Deliveries(database));
  const body: unknown = JSON.parse("[".repeat(1_100) + "]".repeat(1_100));
  const request = storedRequest("deep");
  expect(requests.add(request)).toBeNull();
  const answered = { ...request, version: 1, answer: { status: 200, body } };
  expect(requests.replace(request, answered)).toBe(true);
  expect(requests.get("deep")).toEqual(answered);
});
