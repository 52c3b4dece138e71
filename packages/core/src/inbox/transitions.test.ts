import { describe, expect, it } from "vitest";
import { type Arrival, type NewDelivery, type State, states } from "./delivery.ts";
import { newStoredDelivery } from "./stored-delivery.ts";
import { applyOutcome, assertParked, assertReleasable, reopen } from "./transitions.ts";

const body = new TextEncoder().encode("{}");
const delivery: NewDelivery = {
  ...{ id: "a", receiver: "reports", key: null, signature: "s", url: "/hook" },
  ...{ receivedAt: 1_000, arrivedAt: 1_000 },
  ...{ context: null, headers: {}, body, ackMs: 3 },
};
const moment = { now: 1_000, wallOffset: 0 };
const reason = { code: "not_verified", message: "No verdict." } as const;

describe("applyOutcome()", () => {
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
  ] as const)("says what is kept of %s", (_what, arrival, outcome, expected) => {
    const stored = newStoredDelivery(delivery, arrival, null);
    applyOutcome(stored, outcome, 1_000, moment);
    expect(stored).toMatchObject(expected);
  });

  it("keeps all of what was handled because somebody released it", () => {
    const stored = newStoredDelivery(delivery, unsigned, null);
    stored.released = true;
    applyOutcome(stored, { to: "handled" }, 1_000, moment);
    expect(stored).toMatchObject(all);
  });
});

describe("a state", () => {
  const allowed = (check: (one: { id: string; state: State }) => void): State[] =>
    states.filter((state) => {
      try {
        check({ id: "a", state });
        return true;
      } catch {
        return false;
      }
    });

  it("is left by release and by discard as the head of the file says", () => {
    expect(allowed(assertReleasable)).toEqual(["handled", "held", "dead"]);
    expect(allowed(assertParked)).toEqual(["held", "dead"]);
  });

  it.each<[string, Arrival, State]>([
    ["received, while its signature has no verdict", { to: "held", reason }, "received"],
    [
      "verified, once there was a verdict",
      { to: "held", reason, verification: "expired" },
      "verified",
    ],
  ])("is %s after reopen()", (_what, arrival, state) => {
    const stored = newStoredDelivery(delivery, arrival, null);
    reopen(stored, 5_000);
    expect(stored).toMatchObject({
      state,
      released: true,
      reason: null,
      attempts: 0,
      dueAt: 5_000,
    });
  });
});
