import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { newStoredDelivery } from "./stored-delivery.ts";
import { applyOutcome, changeFor, dropContent } from "./transitions.ts";

const body = new TextEncoder().encode("{}");
const delivery = testDelivery({ url: "/hook", receivedAt: 1_000, arrivedAt: 1_000, body });
const moment = { now: 1_000, wallOffset: 0 };
const reason = { code: "not_verified", message: "No verdict." } as const;

const nothing = { body: null, url: "", signature: null };

describe("outcomes", () => {
  const test = { type: "test_webhook_endpoint", reportId: null } as const;
  const unsigned = { to: "verified", verification: "unsigned", ...test } as const;
  const signed = { to: "verified", verification: "valid", ...test } as const;
  const rejected = { to: "rejected", reason, error: null } as const;
  const dead = { to: "dead", reason, error: null } as const;
  const all = { body, url: "/hook", signature: null };

  it.each([
    ["what is rejected", { to: "received" }, rejected, { ...all, signature: "s" }],
    ["what was handled without a signature", unsigned, { to: "handled" }, all],
    ["what was handled", signed, { to: "handled" }, all],
    ["what is dead without a signature", unsigned, dead, all],
  ] as const)("applyOutcome() says what is kept of %s", (_what, arrival, outcome, expected) => {
    const stored = newStoredDelivery(delivery, arrival, null);
    applyOutcome(stored, outcome, 1_000, moment);
    expect(stored).toMatchObject(expected);
  });

  it("applyOutcome() never sets the last turn of a deprioritized delivery back", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    const retry = { to: "retry", afterMs: 0, error: "", countsAsAttempt: true } as const;
    const turns = [{}, { lastTurnAt: 2_000 }, { lastTurnAt: 0 }, {}].map((turn) => {
      applyOutcome(stored, { ...retry, ...turn }, 1_000, moment);
      return stored.lastTurnAt;
    });
    expect(turns).toEqual([null, 2_000, 2_000, 2_000]);
    applyOutcome(stored, signed, 1_000, moment);
    expect(stored.lastTurnAt).toBe(null);
  });
});

describe("states", () => {
  it("changeFor() with a retry has a rejected delivery verified again, from the beginning", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    const expired = { to: "rejected", reason, error: null, verification: "expired" } as const;
    applyOutcome(stored, expired, 1_000, moment);
    changeFor({ act: "retry", now: 9_000, by: "ada" }, stored);
    expect(stored).toMatchObject({
      state: "received",
      stage: "verify",
      verification: null,
      reason: null,
      attempts: 0,
      dueAt: 9_000,
      changedAt: 9_000,
      signature: "s",
      body,
      released: false,
    });
    expect(stored.history.at(-1)).toEqual({ at: new Date(9_000), act: "retry", by: "ada" });
  });

  it("dropContent() leaves neither body, path nor signature", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    dropContent(stored);
    expect(stored).toMatchObject(nothing);
  });

  it("the history has the last 20 acts of people beside the attempts", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    const retry = { to: "retry", afterMs: 9, error: "no", countsAsAttempt: true } as const;
    for (let at = 0; at < 25; at++) {
      applyOutcome(stored, retry, at, { now: at, wallOffset: 0 });
      changeFor({ act: "retry", now: at, by: null }, stored);
    }
    const times = stored.history.map(({ at }) => Number(at));
    expect(times).toEqual(Array.from({ length: 20 }, (_, index) => [index + 5, index + 5]).flat());
  });
});
