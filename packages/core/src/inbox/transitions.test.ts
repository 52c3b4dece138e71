import { describe, expect, it } from "vitest";
import type { Arrival, NewDelivery, State } from "./delivery.ts";
import { newStoredDelivery } from "./stored-delivery.ts";
import { applyOutcome, hasten, reopen } from "./transitions.ts";

const body = new TextEncoder().encode("{}");
const delivery: NewDelivery = {
  ...{ id: "a", receiver: "reports", key: null, signature: "s", url: "/hook" },
  ...{ receivedAt: 1_000, arrivedAt: 1_000 },
  ...{ context: null, headers: {}, body, requestId: null },
};
const moment = { now: 1_000, wallOffset: 0 };
const reason = { code: "not_verified", message: "No verdict." } as const;

describe("outcomes", () => {
  const test = { type: "test_webhook_endpoint", reportId: null } as const;
  const unsigned = { to: "verified", verification: "unsigned", ...test } as const;
  const signed = { to: "verified", verification: "valid", ...test } as const;
  const rejected = { to: "rejected", reason, error: null } as const;
  const dead = { to: "dead", reason, error: null } as const;
  const nothing = { body: null, url: "", signature: null };
  const all = { body, url: "/hook", signature: null };

  it.each([
    ["what is rejected", { to: "received" }, rejected, nothing],
    ["what was handled without a signature", unsigned, { to: "handled" }, nothing],
    ["what was handled", signed, { to: "handled" }, all],
    ["what is dead without a signature", unsigned, dead, all],
  ] as const)("applyOutcome() says what is kept of %s", (_what, arrival, outcome, expected) => {
    const stored = newStoredDelivery(delivery, arrival, null);
    applyOutcome(stored, outcome, 1_000, moment);
    expect(stored).toMatchObject(expected);
  });

  it("applyOutcome() keeps all of what was handled because somebody released it", () => {
    const stored = newStoredDelivery(delivery, unsigned, null);
    stored.released = true;
    applyOutcome(stored, { to: "handled" }, 1_000, moment);
    expect(stored).toMatchObject(all);
  });
});

describe("states", () => {
  it.each<[string, Arrival, State]>([
    ["received, while its signature has no verdict", { to: "held", reason }, "received"],
    [
      "verified, once there was a verdict",
      { to: "held", reason, verification: "expired" },
      "verified",
    ],
  ])("the state after reopen() is %s", (_what, arrival, state) => {
    const stored = newStoredDelivery(delivery, arrival, null);
    reopen(stored, { now: 5_000, by: "ada" });
    expect(stored).toMatchObject({
      state,
      released: true,
      reason: null,
      attempts: 0,
      dueAt: 5_000,
      history: [{ at: new Date(5_000), act: "release", by: "ada" }],
    });
  });

  it("the history has the last 20 acts of people beside the attempts", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    const retry = { to: "retry", afterMs: 9, error: "no", countsAsAttempt: true } as const;
    for (let at = 0; at < 25; at++) {
      applyOutcome(stored, retry, at, { now: at, wallOffset: 0 });
      hasten(stored, { now: at, by: null });
    }
    const times = stored.history.map(({ at }) => Number(at));
    expect(times).toEqual(Array.from({ length: 20 }, (_, index) => [index + 5, index + 5]).flat());
  });
});
