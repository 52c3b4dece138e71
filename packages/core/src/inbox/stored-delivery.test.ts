import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { entryOf, jobAt, newStoredDelivery } from "./stored-delivery.ts";

const body = new TextEncoder().encode("{}");
const receivedAt = new Date(1_000);
const given = {
  id: "a",
  url: "/hook",
  arrivedAt: 900,
  context: '{"customer":1}',
  headers: { traceparent: "00" },
  body,
  requestId: null,
};
const delivery = testDelivery({ ...given, receivedAt: 1_000 });
const job = {
  ...given,
  receivedAt,
  attempts: 0,
  lastError: null,
  released: false,
  retryState: null,
  sameSignatureAs: null,
};

describe("jobs", () => {
  it("jobAt() gives a job to verify, of which nothing is known, when a delivery was received", () => {
    const nothing = { type: null, reportId: null, verification: null };
    const expected = { ...job, ...nothing, state: "received", stage: "verify", signature: "s" };
    expect(jobAt(delivery)).toEqual(expected);
  });

  it("jobAt() gives a job to handle, with a type and no signature, when a delivery is verified", () => {
    const found = { type: "test_webhook_endpoint", reportId: null } as const;
    const arrival = { to: "verified", verification: "unsigned", ...found } as const;
    const expected = { state: "verified", stage: "handle", signature: null, ...found };
    expect(jobAt(delivery, arrival)).toEqual({ ...job, ...expected, verification: "unsigned" });
  });
});

it("entryOf() shows when a delivery was received, though it arrived earlier by lived time", () => {
  const stored = newStoredDelivery(delivery, { to: "received" }, null);
  expect(entryOf(stored, 0).receivedAt).toEqual(receivedAt);
});
