import { expect, test } from "vitest";
import { createFaults, type FaultOptions } from "./faults.ts";

test("set() replaces a fault that would last", () => {
  const faults = createFaults();
  faults.set("authorize", { status: 500 });
  faults.set("test", { status: 501 });
  faults.set("authorize", { status: 503, times: 1 });
  expect(faults.take("authorize")?.status).toBe(503);
  expect(faults.take("authorize")).toBeUndefined();
  expect(faults.take("test")?.status).toBe(501);
});

test("set() returns a function that ends this fault and no other", () => {
  const faults = createFaults();
  const end = faults.set("delivery", { drop: true, times: 9 });
  faults.set("delivery", { status: 500 });
  end();
  end();
  expect(faults.take("delivery")).toEqual({ status: 500 });
});

test.each([
  ["status", { status: 99 }],
  ["status", { status: 204.5 }],
  ["status", { status: "503" }],
  ["delayMs", { delayMs: -1 }],
  ["delayMs", { delayMs: 2 ** 31 }],
  ["drop", { drop: "yes" }],
  ["drop", { drop: true, status: 500 }],
  ["duplicate", { duplicate: 2 }],
  ["duplicate", { duplicate: true }],
  ["times", { status: 500, times: 0 }],
  ["times", { status: 500, times: 1.5 }],
  ["tmies", { status: 500, tmies: 1 }],
  ["status, delayMs, drop, duplicate", {}],
  ["status, delayMs, drop, duplicate", undefined],
  ["status, delayMs, drop, duplicate", { drop: false, times: 2 }],
])("set() throws a TypeError that names %s when given %j", (name, options) => {
  const set = () => createFaults().set("authorize", options as FaultOptions);
  expect(set).toThrow(TypeError);
  expect(set).toThrow(name);
});

test("set() throws a TypeError that names target when it is not known", () => {
  expect(() => createFaults().set("verify" as "test", { status: 500 })).toThrow(/^target of/);
});
