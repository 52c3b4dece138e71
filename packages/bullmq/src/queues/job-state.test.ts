import { applyOutcome, newStoredDelivery, retryIn } from "@reporthook/core/store";
import { describe, expect, it } from "vitest";
import { dataOf, type JobState, jobStateOf } from "./job-state.ts";

function retried(): JobState {
  const delivery = newStoredDelivery(
    {
      id: "1",
      receiver: "a",
      receivedAt: 5,
      arrivedAt: 5,
      key: null,
      signature: "s",
      url: "/",
      context: null,
      headers: {},
      body: new Uint8Array([123, 125]),
      requestId: null,
    },
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
