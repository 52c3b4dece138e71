import { describe, expect, it } from "vitest";
import { headersText, storedDeliveryOf } from "./row.ts";

const row = { seq: 1, id: "1", arrived_at: 5, due_at: null, state: 0, attempts: 0, url: "/" };
const headersIn = (headers: string) => storedDeliveryOf({ ...row, headers }, "a").headers;

describe("rows", () => {
  it.each([
    [{}],
    [{ "content-type": "application/json", "user-agent": "reports/1.0" }],
    [{ traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }],
    [{ "content-type": "", "x-other": "of an app's own inbox" }],
  ])("a row has the headers that were given: %j", (headers) => {
    expect(headersIn(headersText(headers))).toEqual(headers);
  });

  it("a row spells out no names of headers that most deliveries have", () => {
    expect(headersText({ "user-agent": "reports/1.0" })).not.toContain("user-agent");
  });

  it("a row has no headers where somebody has written something else", () => {
    for (const text of ["", "null", "7", "[7, null]"]) expect(headersIn(text)).toEqual({});
  });

  it("a row has its history", () => {
    const history = JSON.stringify([["handle", 7, 1, "retry", "Error: no"]]);
    const [attempt] = storedDeliveryOf({ ...row, headers: "{}", history }, "a").history;
    expect(attempt).toMatchObject({ stage: "handle", outcome: "retry", error: "Error: no" });
  });

  it("a row is due from its receipt on, as long as nothing else is said", () => {
    const dueAt = (due: number | null) =>
      storedDeliveryOf({ ...row, headers: "{}", due_at: due }, "a").dueAt;
    expect([dueAt(null), dueAt(9)]).toEqual([5, 9]);
  });
});
