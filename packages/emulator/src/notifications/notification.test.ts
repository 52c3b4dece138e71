import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createEmulator } from "../emulator.ts";
import type { NotificationName, NotificationOptions } from "./notification.ts";

const emulator = createEmulator();

test.each([
  ["report.processing", "processing"],
  ["report.complete", "complete"],
  ["report.internal_error", "internal_error"],
  ["report", "complete"],
  ["*", "complete"],
] as const)("notification() tells of a report when named %s", (name, status) => {
  const { body } = emulator.notification(name, { reportId: "r-1" });
  expect(JSON.parse(body)).toEqual({
    event_type: "report_status_changed",
    payload: { report_id: "r-1", status },
  });
});

test("notification() has a confirmation text when named test_webhook_endpoint", () => {
  const body = JSON.parse(emulator.notification("test_webhook_endpoint").body);
  expect(body).toEqual({ event_type: "test_webhook_endpoint", payload: expect.any(String) });
});

test("notification() has neither a status nor a known event type when named unknown", () => {
  const body = JSON.parse(emulator.notification("unknown").body);
  expect(body).toEqual({ event_type: "not_in_the_document", payload: expect.any(String) });
});

test("notification() is a POST of JSON with a plain object of headers", () => {
  const { method, headers } = emulator.notification("report");
  expect(method).toBe("POST");
  expect(headers).toStrictEqual({
    "content-type": "application/json",
    "user-agent": "reporthook-emulator",
    "X-svc-authorization": expect.any(String),
  });
});

test("notification() carries no signature when told none", () => {
  const { headers } = emulator.notification("report", { signature: "none" });
  expect(headers).not.toHaveProperty("X-svc-authorization");
});

test("notification() has another signature and report on every call", () => {
  const [one, two] = [emulator.notification("report"), emulator.notification("report")];
  expect(one.headers).not.toEqual(two.headers);
  expect(one.body).not.toBe(two.body);
});

test("notification() with the url of a requested report has its id", async () => {
  const { fetch, notification, reports } = createEmulator();
  const url = "https://app.example/hook?token=1";
  await fetch("http://emulator.invalid/batch/v4/request-report", {
    method: "POST",
    headers: { authorization: "test-api-key" },
    body: JSON.stringify({ webhook_url: url }),
  });
  const [report] = reports.list();
  const { body } = notification("report.complete", { url });
  expect(JSON.parse(body)).toMatchObject({ payload: { report_id: report?.id } });
  const other = notification("report.complete", { url: "https://app.example/hook?token=2" });
  expect(other.body).not.toContain(report?.id);
});

test("notification() sends body instead when given", () => {
  expect(emulator.notification("report", { body: "{ not JSON" }).body).toBe("{ not JSON");
  expect(emulator.notification("report", { body: "" }).body).toBe("");
  expect(emulator.notification("report", { body: { a: [1] } }).body).toBe('{"a":[1]}');
});

const cycle: unknown[] = [];
cycle.push(cycle);

test.each([
  [/no option sig; its options are reportId, signature, body/, { sig: "invalid" }],
  [/reportId must be a string, not number/, { reportId: 7 }],
  [/body must be text or an object, not bytes/, { body: new Uint8Array(2) }],
  [/body must be text or an object, not bytes/, { body: new ArrayBuffer(2) }],
  [/body must be text or an object, not bytes/, { body: runInNewContext("new ArrayBuffer(2)") }],
  [/body must be text, or what JSON can hold/, { body: { bytes: 1n } }],
  [/body must be text, or what JSON can hold/, { body: () => {} }],
  [/body must be text, or what JSON can hold/, { body: cycle }],
])("notification() throws a TypeError: %s", (message, options) => {
  const make = () => emulator.notification("report", options as NotificationOptions);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(message);
});

test("notification() throws when the name or the signature is not known", () => {
  expect(() => emulator.notification("report.lost" as NotificationName)).toThrow(/^name must be/);
  expect(() => emulator.notification("report", { signature: "old" as "valid" })).toThrow(
    /^signature must be/,
  );
});

test("notification() has the path and query of its URL, and no path without one", () => {
  const url = "https://app.example/webhooks/reports?a=1&callback_token=t#top";
  const { path } = emulator.notification("report.complete", { url });
  expect(path).toBe("/webhooks/reports?a=1&callback_token=t");
  expect(emulator.notification("report.complete", { url: undefined })).not.toHaveProperty("path");
});

test.each([
  "",
  "/hook?callback_token=t",
  "ftp://app.example/?callback_token=t",
  null,
  new URL("https://app.example/?callback_token=t"),
])("notification() throws a TypeError that quotes no token when its URL is %j", (url) => {
  const make = () => emulator.notification("report", { url: url as string });
  expect(make).toThrow(new TypeError("url must be the text of an absolute http or https URL"));
});
