import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidReportRequestError } from "../errors.ts";
import { type ReportRequest, reportBody } from "./report-request.ts";

function problemsOf(report: unknown): Record<string, string> {
  try {
    reportBody(report as ReportRequest);
  } catch (error) {
    if (!(error instanceof InvalidReportRequestError)) throw error;
    expect(error.code).toBe("invalid_report_request");
    for (const { field } of error.problems) expect(error.message).toContain(field);
    return Object.fromEntries(error.problems.map(({ field, message }) => [field, message]));
  }
  return {};
}

const complete: ReportRequest = {
  webhook_url: "http://localhost:3000/hooks",
  domains: ["example.com", "example.org"],
  category_ids: [0, -1, 12],
  metrics: ["category_sales_performance_cvr", "of_tomorrow"],
  start_date: "2026-01",
  end_date: "2026-01",
  granularity: "weekly",
  response_format: "csv",
};

describe("bodies", () => {
  it("reportBody() returns the same fields when all are right", () => {
    expect(JSON.parse(reportBody(complete))).toEqual(complete);
    expect(reportBody({})).toBe("{}");
    expect(reportBody({ domains: [], granularity: undefined })).toBe('{"domains":[]}');
  });

  it("reportBody() passes on fields when the document does not name them", () => {
    const report = { country: "de", constructor: 1, toString: "x" } as ReportRequest;
    expect(reportBody(report)).toBe('{"country":"de","constructor":1,"toString":"x"}');
  });

  it("reportBody() lists every problem when several fields are wrong", () => {
    const problems = problemsOf({
      webhook_url: "/hooks",
      domains: ["example.com", "", 3],
      category_ids: [1, 1.5, "2", Number.NaN],
      metrics: "revenue",
      start_date: "2026-1",
      end_date: "2026-00",
      granularity: " ",
      response_format: null,
    });
    expect(Object.keys(problems)).toEqual([
      "webhook_url",
      "domains[1]",
      "domains[2]",
      "category_ids[1]",
      "category_ids[2]",
      "category_ids[3]",
      "metrics",
      "start_date",
      "end_date",
      "granularity",
      "response_format",
    ]);
    expect(problems["metrics"]).toBe("must be an array");
    expect(problems["start_date"]).toContain("YYYY-MM");
  });

  it("reportBody() rejects an array with holes", () => {
    const domains = ["example.com"];
    domains[2] = "example.org";
    expect(Object.keys(problemsOf({ domains }))).toEqual(["domains[1]"]);
  });

  it("reportBody() names end_date when it is before start_date", () => {
    const problems = problemsOf({ start_date: "2026-02", end_date: "2026-01" });
    expect(problems).toEqual({ end_date: "must not be before start_date" });
    expect(problemsOf({ start_date: "2026-02", end_date: "x" })).toHaveProperty("end_date");
    expect(problemsOf({ end_date: "2026-01" })).toEqual({});
  });

  it.each([
    "2026-13",
    "2026-00",
    "26-01",
    "2026/01",
    "2026-01-01",
    " 2026-01",
    "2026-01\n",
    202601,
  ])("reportBody() refuses a month when it is %j", (month) => {
    expect(Object.keys(problemsOf({ start_date: month }))).toEqual(["start_date"]);
  });

  it.each([
    "https://a.example/b c",
    "https://a.example/\n",
    "javascript:alert(1)",
    "http:a.example",
    "//a.example",
  ])("reportBody() refuses an address when it is %j, without quoting it", (address) => {
    const { webhook_url: message } = problemsOf({ webhook_url: address });
    expect(message).toContain("absolute http(s) URL");
    expect(message).not.toContain(address);
  });

  it.each([
    ["a promise", Promise.resolve({ domains: ["a.example"] })],
    ["a map", new Map([["domains", ["a.example"]]])],
    ["an heir of one", Object.create({ domains: ["a.example"] })],
    ["null", null],
    ["undefined", undefined],
    ["a text", "report"],
    ["a list", []],
    ["a number", 1],
  ])("reportBody() refuses %s, whose fields would not be sent", (_what, report) => {
    expect(problemsOf(report)).toEqual({ report: expect.stringContaining("plain object") });
  });

  it("reportBody() refuses a report when JSON cannot hold it", () => {
    expect(problemsOf({ extra: 1n })).toHaveProperty("report");
  });

  it("reportBody() throws nothing but InvalidReportRequestError when given anything", () => {
    const anything = fc.record(
      Object.fromEntries(Object.keys(complete).map((field) => [field, fc.anything()])),
      { requiredKeys: [] },
    );
    fc.assert(fc.property(anything, (report) => void problemsOf(report)));
  });
});
