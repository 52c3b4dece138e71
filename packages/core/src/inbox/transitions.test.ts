import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { newStoredDelivery } from "./stored-delivery.ts";
import { applyAct, applyOutcome, dropContent } from "./transitions.ts";

const body = new TextEncoder().encode("{}");
const delivery = testDelivery({ url: "/hook", receivedAt: 1_000, arrivedAt: 1_000, body });
const moment = { now: 1_000, wallOffset: 0 };

describe("outcomes", () => {
  it("applyOutcome() never sets the last turn of a deprioritized delivery back", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    const retry = { to: "retry", afterMs: 0, error: "", countsAsAttempt: true } as const;
    const turns = [{}, { lastTurnAt: 2_000 }, { lastTurnAt: 0 }, {}].map((turn) => {
      applyOutcome(stored, { ...retry, ...turn }, 1_000, moment);
      return stored.lastTurnAt;
    });
    expect(turns).toEqual([null, 2_000, 2_000, 2_000]);
    const found = { type: "report.complete", reportId: null } as const;
    applyOutcome(stored, { to: "verified", verification: "valid", ...found }, 1_000, moment);
    expect(stored.lastTurnAt).toBe(null);
  });
});

describe("states", () => {
  it("dropContent() leaves neither body, path nor signature", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    dropContent(stored);
    expect(stored).toMatchObject({ body: null, url: "", signature: null });
  });

  it("the history has the last 20 acts of people beside the attempts", () => {
    const stored = newStoredDelivery(delivery, { to: "received" }, null);
    const retry = { to: "retry", afterMs: 9, error: "no", countsAsAttempt: true } as const;
    for (let at = 0; at < 25; at++) {
      applyOutcome(stored, retry, at, { now: at, wallOffset: 0 });
      applyAct(stored, { act: "retry", now: at, by: null });
    }
    const times = stored.history.map(({ at }) => Number(at));
    expect(times).toEqual(Array.from({ length: 20 }, (_, index) => [index + 5, index + 5]).flat());
  });
});
