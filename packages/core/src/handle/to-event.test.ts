import { testJob } from "@reporthook/test-support/jobs";
import { schemaOf } from "@reporthook/test-support/schema";
import { describe, expect, it } from "vitest";
import type { Schemas } from "../events/events.ts";
import type { Parse } from "../events/recognize.ts";
import { Recognizer } from "../events/recognize.ts";
import type { Job } from "../inbox/delivery.ts";
import { toEvent } from "./to-event.ts";

function jobOf(body: unknown, rest: Partial<Job> = {}): Job {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return testJob(5, {
    state: "verified",
    stage: "handle",
    verification: "valid",
    signature: null,
    headers: { "user-agent": "x" },
    body: new TextEncoder().encode(text),
    ...rest,
  });
}

function make(job: Job, options: { parse?: Parse; schemas?: Schemas } = {}) {
  return toEvent(job, new Recognizer(options.parse), options.schemas);
}

const common = { id: "1", receivedAt: new Date(5), verification: "valid" };
const report = { status: "complete", report_id: "r" };

describe("events", () => {
  it("toEvent() gives a report event its status and report id", async () => {
    const event = { ...common, type: "report.complete", status: "complete" };
    const ids = { reportId: "r", requestId: null };
    expect(await make(jobOf(report))).toEqual({ ...event, eventType: null, body: report, ...ids });
  });

  it("toEvent() gives a test event its payload, and no report id", async () => {
    const body = { event_type: "test_webhook_endpoint", payload: "hello" };
    const event = { ...common, type: "test_webhook_endpoint", payload: "hello" };
    const expected = { ...event, eventType: "test_webhook_endpoint", body };
    expect(await make(jobOf(body))).toStrictEqual(expected);
  });

  it("toEvent() gives an unknown event the fields that every event has", async () => {
    const body = { event_type: "new" };
    const expected = { ...common, type: "unknown", eventType: "new", body };
    expect(await make(jobOf(body))).toStrictEqual(expected);
  });

  it("toEvent() says how far the origin is known", async () => {
    for (const verification of ["valid", "expired", "unsigned"] as const) {
      expect((await make(jobOf({}, { verification })))?.verification).toBe(verification);
    }
    expect((await make(jobOf({}, { verification: null })))?.verification).toBe("unsigned");
  });

  it("toEvent() gives null for bytes that are no JSON object", async () => {
    for (const text of ["", "[]", "nope"]) expect(await make(jobOf(text))).toBeNull();
  });

  it("toEvent() asks parse, with the kept headers", async () => {
    const parse = ({ headers }: { headers: Readonly<Record<string, string>> }) =>
      ({ type: "report", status: "processing", reportId: headers["user-agent"] ?? null }) as const;
    expect(await make(jobOf({}), { parse })).toMatchObject({ reportId: "x" });
    const broken = () => {
      throw new RangeError("mine");
    };
    expect(() => make(jobOf({}), { parse: broken })).toThrow(RangeError);
  });

  it("toEvent() makes a schema's output the body, and asks no other type's schema", async () => {
    const schemas: Schemas = {
      "report.complete": schemaOf(async (value) => ({ value: { parsed: value } })),
      unknown: schemaOf(() => ({ issues: [{ message: "not me" }] })),
    };
    expect((await make(jobOf(report), { schemas }))?.body).toEqual({ parsed: report });
    const processing = { status: "processing" };
    expect((await make(jobOf(processing), { schemas }))?.body).toEqual(processing);
  });

  it("toEvent() rejects with the issues of a schema, ten at most", async () => {
    const issues = [
      { message: "too short", path: ["a", { key: 0 }, Symbol("s")] },
      { message: "wrong" },
      ...Array.from({ length: 20 }, (_, index) => ({ message: `issue ${index}`, path: [] })),
    ];
    const schemas = { "report.complete": schemaOf(() => ({ issues })) };
    const failure = make(jobOf(report), { schemas });
    await expect(failure).rejects.toMatchObject({ code: "schema_mismatch" });
    await expect(failure).rejects.toThrow(
      /report.complete: a.0.Symbol\(s\): too short; wrong; issue 0;.*issue 7$/,
    );
  });

  it.each([undefined, null, 7, "valid", true, {}, { issues: "none" }])(
    "toEvent() rejects with a TypeError that names the schema which answers %j",
    async (answer) => {
      const schemas = { "report.complete": schemaOf(() => answer as never) };
      const failure = make(jobOf(report), { schemas });
      await expect(failure).rejects.toThrow(TypeError);
      await expect(failure).rejects.toThrow("What the schema of report.complete answers must be {");
    },
  );
});
