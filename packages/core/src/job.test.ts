import { describe, expect, it } from "vitest";
import { deliveryOf, entryAtArrival, keyOf, newJob, verifiedJob } from "./job.ts";

const body = new TextEncoder().encode("{}");
const notification = { url: "/hook", headers: { traceparent: "00" }, body, claims: null };
const given = { id: "a", arrivedAt: 1_000, context: '{"customer":1}' };
const job = newJob({ ...notification, signature: "s" }, given);
const reason = { code: "unsigned", message: "It has no signature." } as const;
const entry = {
  ...{ id: "a", receivedAt: new Date(1_000), attempts: 0, lastError: null, ackMs: 3 },
};

describe("newJob()", () => {
  it("is to be verified, and nothing is known of it", () => {
    expect(job).toEqual({
      ...{ id: "a", url: "/hook", headers: { traceparent: "00" }, body, signature: "s" },
      ...{ context: '{"customer":1}', receivedAt: new Date(1_000), state: "received" },
      ...{ stage: "verify", reason: null, type: null, reportId: null, attempts: 0, ackMs: 0 },
      ...{ nextAttemptAt: null, lastError: null, verification: null, released: false },
      ...{ memo: null, sameSignatureAs: null },
    });
  });
});

describe("verifiedJob()", () => {
  it("is to be handled, without its signature, and has a type", () => {
    const found = { type: "test_webhook_endpoint", reportId: null } as const;
    const arrival = { to: "verified", verification: "unsigned", ...found } as const;
    const expected = { state: "verified", stage: "handle", signature: null, ...found };
    expect(verifiedJob(job, arrival)).toEqual({
      ...{ ...job, ...expected },
      verification: "unsigned",
    });
  });
});

describe("keyOf()", () => {
  it("is of the whole address, and null without a signature", async () => {
    const one = await keyOf(job, "/hook?token=1", "reports");
    expect(one).not.toEqual(await keyOf(job, "/hook?token=2", "reports"));
    expect(one?.byteLength).toBe(24);
    const unsigned = newJob({ ...notification, signature: null }, given);
    expect(keyOf(unsigned, "/hook", "reports")).toBeNull();
  });
});

describe("deliveryOf()", () => {
  it("is what an inbox stores", () => {
    const rest = { receiver: "reports", key: null, ackMs: 3 };
    const { id, signature, url, context, headers } = job;
    const expected = { id, signature, url, context, headers, body, receivedAt: 1_000, ...rest };
    expect(deliveryOf(job, rest)).toEqual(expected);
  });
});

describe("entryAtArrival()", () => {
  it.each([
    [{ to: "received" }, { reason: null, type: null, reportId: null }],
    [
      { to: "verified", verification: "valid", type: "report.complete", reportId: "r" },
      { reason: null, type: "report.complete", reportId: "r" },
    ],
  ] as const)("waits to be worked on when it is %o", (arrival, expected) => {
    const waits = { state: arrival.to, nextAttemptAt: entry.receivedAt };
    expect(entryAtArrival(job, arrival, 3)).toEqual({ ...entry, ...waits, ...expected });
  });

  it.each([
    [
      { to: "held", reason },
      { type: null, reportId: null },
    ],
    [
      { to: "held", reason, type: "unknown", reportId: null },
      { type: "unknown", reportId: null },
    ],
  ] as const)("waits for nothing when it is %o", (arrival, expected) => {
    const parked = { state: "held", nextAttemptAt: null, reason, ...expected };
    expect(entryAtArrival(job, arrival, 3)).toEqual({ ...entry, ...parked });
  });
});
