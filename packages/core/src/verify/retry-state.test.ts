import { describe, expect, it } from "vitest";
import {
  isJudgedSince,
  nextRetryState,
  type RetryState,
  retryStateOf,
  type ServiceState,
  type Unjudged,
  whyExpired,
} from "./retry-state.ts";

describe("reading", () => {
  it("retryStateOf() reads the remembered state, nothing at first", () => {
    expect(retryStateOf({ retryState: null })).toEqual({});
    expect(retryStateOf({ retryState: '{"wasUnanswered":true,"ownFaults":2}' })).toEqual({
      wasUnanswered: true,
      ownFaults: 2,
    });
  });
});

describe("nextRetryState()", () => {
  const now = 1_000_000;
  const never = Number.NEGATIVE_INFINITY;
  const next = (
    why: Unjudged,
    { before, age = 0, ...service }: Partial<ServiceState> & { before?: RetryState; age?: number },
  ) =>
    nextRetryState(
      {
        retryState: before === undefined ? null : JSON.stringify(before),
        arrivedAt: now - age,
      },
      why,
      { now, knownSince: 0, open: null, judgedAt: never, ...service },
    );

  it.each<[Unjudged, ServiceState["open"], boolean]>([
    ["unavailable", null, true],
    ["unknown", null, true],
    ["not asked", "unavailable", true],
    ["not asked", "unauthorized", false],
    ["not asked", null, false],
    ["bad_request", "unavailable", false],
    ["unauthorized", "unavailable", false],
  ])("nextRetryState() notes an early outage: %s with %s is %s", (why, open, wasUnanswered) => {
    expect(next(why, { open, age: 59_999 }).wasUnanswered).toBe(wasUnanswered);
    expect(next(why, { open, age: 60_000 }).wasUnanswered).toBe(false);
    expect(next(why, { open, age: 60_000, before: { wasUnanswered: true } }).wasUnanswered).toBe(
      true,
    );
  });

  it("nextRetryState() counts answers that concern this signature", () => {
    expect(next("bad_request", {}).ownFaults).toBe(1);
    expect(next("bad_request", { before: { ownFaults: 2 } }).ownFaults).toBe(3);
    for (const why of ["unavailable", "unknown", "not asked"] as const)
      expect(next(why, { before: { ownFaults: 2 } }).ownFaults).toBe(2);
  });

  it("nextRetryState() counts a refusal if it is the first, or if another signature was judged since", () => {
    expect(next("unauthorized", {})).toMatchObject({ ownFaults: 1, refusedAt: now });
    const before = { ownFaults: 1, refusedAt: now - 10 };
    const refusedAt = now;
    expect(next("unauthorized", { before, judgedAt: now - 10 })).toMatchObject({
      ...{ ownFaults: 1, refusedAt },
    });
    expect(next("unauthorized", { before, judgedAt: now - 9 })).toMatchObject({
      ...{ ownFaults: 2, refusedAt },
    });
  });

  it("nextRetryState() keeps the time of the last refusal, and has none before", () => {
    expect(next("unavailable", { before: { refusedAt: 5 } }).refusedAt).toBe(5);
    expect(next("unavailable", {})).toEqual({ wasUnanswered: true, ownFaults: 0 });
  });

  it("isJudgedSince() knows whether another signature was judged since", () => {
    expect(isJudgedSince({}, 5)).toBe(false);
    expect(isJudgedSince({ refusedAt: 5 }, 5)).toBe(false);
    expect(isJudgedSince({ refusedAt: 5 }, 6)).toBe(true);
  });
});

describe("reasons", () => {
  const received = { retryState: null, arrivedAt: 1_000, attempts: 0 };
  const never = Number.NEGATIVE_INFINITY;
  const silent = "The signature expired while the service was unavailable.";
  const refused =
    "The signature expired while verification was paused, because the service refused the API key: check apiKey.";
  const failed = "The signature expired while authorize calls failed.";
  const old = "The signature was older than 5 minutes when authorize was asked.";

  it.each([
    [
      "the service was silent",
      silent,
      { retryState: '{"wasUnanswered":true}', attempts: 3 },
      2_000,
    ],
    ["the key was refused meanwhile", refused, { attempts: 3 }, 1_001],
    ["the key was refused before it came", old, {}, 1_000],
    ["attempts failed", failed, { attempts: 1, retryState: '{"ownFaults":1}' }, never],
    ["it was old when it came", old, {}, never],
  ])("whyExpired() names the reason when %s", (_, message, job, refusedAt) => {
    expect(whyExpired({ ...received, ...job }, refusedAt)).toBe(message);
  });
});
