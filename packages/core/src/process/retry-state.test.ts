import { describe, expect, it } from "vitest";
import { retryStateOf, retryStateText, whyExpired } from "./retry-state.ts";

describe("retryStateOf()", () => {
  it("reads what was remembered, nothing at first", () => {
    expect(retryStateOf({ retryState: null })).toEqual({});
    expect(retryStateOf({ retryState: '{"outage":true,"odd":2}' })).toEqual({
      outage: true,
      badRequests: 2,
    });
  });
});

describe("retryStateText()", () => {
  it("writes names that every version reads", () => {
    const state = { outage: false, badRequests: 2, refusedAt: 5 };
    expect(JSON.parse(retryStateText(state))).toEqual({ outage: false, odd: 2, refusedAt: 5 });
    expect(retryStateOf({ retryState: retryStateText(state) })).toEqual(state);
  });
});

describe("whyExpired()", () => {
  const received = { retryState: null, receivedAt: new Date(1_000), attempts: 0 };
  const never = Number.NEGATIVE_INFINITY;
  const silent = "The signature expired while the service was unavailable.";
  const refused =
    "The signature expired while verification was paused, because the service refused the API key: check apiKey.";
  const failed = "The signature expired while authorize calls failed.";
  const old = "The signature was older than 5 minutes when authorize was asked.";

  it.each([
    ["the service was silent", silent, { retryState: '{"outage":true}', attempts: 3 }, 2_000],
    ["the key was refused meanwhile", refused, { attempts: 3 }, 1_001],
    ["the key was refused before it came", old, {}, 1_000],
    ["attempts failed", failed, { attempts: 1, retryState: '{"odd":1}' }, never],
    ["it was old when it came", old, {}, never],
  ])("says so when %s", (_, message, job, refusedAt) => {
    expect(whyExpired({ ...received, ...job }, refusedAt)).toBe(message);
  });
});
