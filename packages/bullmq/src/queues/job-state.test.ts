import { applyOutcome, newStoredDelivery, retryIn } from "@reporthook/core/store";
import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { dataOf, type JobState, jobStateOf } from "./job-state.ts";

function retried(): JobState {
  const delivery = newStoredDelivery(
    testDelivery({ id: "1", receivedAt: 5, arrivedAt: 5, body: new Uint8Array([123, 125]) }),
    { to: "received" },
    null,
  );
  const rest = { countsAsAttempt: true, lastTurnAt: 1_000, retryState: "{}" };
  applyOutcome(delivery, retryIn(1_000, "503", rest), 6, { now: 7, wallOffset: 0 });
  return { stored: delivery, key: "k", hop: 2, stalls: 1, nonce: undefined };
}

describe("jobs", () => {
  it("the data of a job is read as it was written", () => {
    const state = retried();
    expect(jobStateOf(JSON.parse(JSON.stringify(dataOf(state))))).toEqual(state);
  });
});
