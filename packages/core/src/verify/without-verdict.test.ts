import { testStages } from "@reporthook/test-support/jobs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Job } from "../inbox/delivery.ts";
import { type RetryState, retryStateOf } from "../inbox/transitions.ts";
import {
  type CallInVain,
  isKeySuspect,
  type Unjudged,
  whyExpired,
  withoutVerdict,
} from "./without-verdict.ts";

const now = 100_000_000;
const minute = 60_000;
const never = Number.NEGATIVE_INFINITY;
const { job: newJob } = testStages(() => "valid");

beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

interface Given {
  readonly age?: number;
  readonly job?: Partial<Job> | undefined;
  readonly call?: Partial<CallInVain> | undefined;
}

function callOf(call: Given["call"] = {}): CallInVain {
  const times = { now, knownSince: 0, openMs: 0, judgedAt: never };
  const judgedAnywhereAt = call.judgedAt ?? never;
  const rest = {
    error: "503",
    retryAfterMs: 0,
    open: null,
    judgedAnywhereAt,
    isOdd: false,
  } as const;
  return { why: "unavailable", ...rest, ...times, ...call };
}

function outcomeOf({ age = 0, job, call }: Given) {
  return withoutVerdict(newJob({ arrivedAt: now - age, ...job }), callOf(call));
}

/** A delivery with the state that is left of its earlier calls. */
const left = (before: RetryState) => ({ retryState: JSON.stringify(before) });
const refusedBefore = (ownFaults: number) => left({ ownFaults, refusedAt: now - 5_000 });

/** The answer to a call that concerns its signature, after as many of them. */
const odd = (before: number, call?: Given["call"]): Given => ({
  job: left({ ownFaults: before }),
  call: { why: "bad_request", ...call },
});
const refused = { why: "unauthorized" } as const;

describe("held deliveries", () => {
  it.each<[string, Given, string]>([
    [
      "a third odd answer while others are judged",
      odd(2, { judgedAt: now - 59_999 }),
      "The service judges other signatures",
    ],
    [
      "a third odd answer if another was judged since the second, though many get one",
      {
        job: refusedBefore(2),
        call: { why: "bad_request", isOdd: true, judgedAt: now - 4_999 },
      },
      "The service judges other signatures",
    ],
    [
      "a third refusal if another was judged since the second",
      { job: refusedBefore(2), call: { ...refused, judgedAt: now - 4_999 } },
      "The service judges other signatures",
    ],
    ["after an hour", { age: 3_600_000 }, "The service gave no verdict for an hour"],
    [
      "the twelfth call for a released one",
      { age: 9e9, job: { released: true, attempts: 11 } },
      "The service gave no verdict for an hour",
    ],
    [
      "after an hour of a paused stage in which another was judged",
      {
        age: 3_600_000,
        call: { why: "not asked", open: "unauthorized", judgedAt: now - 3_600_000 },
      },
      "The service gave no verdict for an hour",
    ],
    [
      "after an hour of a paused stage while another process had a verdict",
      {
        age: 3_600_000,
        call: { why: "not asked", open: "unauthorized", judgedAnywhereAt: now - 3_600_000 },
      },
      "The service gave no verdict for an hour",
    ],
  ])("withoutVerdict() holds %s", (_, given, message) => {
    const outcome = outcomeOf(given);
    expect(outcome).toMatchObject({ to: "held", reason: { code: "not_verified" }, error: "503" });
    expect(outcome.reason?.message).toMatch(new RegExp(`^${message}.*Last: 503$`));
  });
});

describe("another call", () => {
  it.each<[string, Given]>([
    ["after two odd answers", odd(1, { judgedAt: now })],
    ["after odd answers that many get", odd(8, { judgedAt: now - 1, isOdd: true })],
    ["after odd answers while none is judged", odd(8, { judgedAt: now - 60_000 })],
    [
      "after refusals while none is judged",
      { job: refusedBefore(9), call: { ...refused, judgedAt: now - 5_001 } },
    ],
    ["if it was not asked, whatever came before", odd(9, { why: "not asked", judgedAt: now })],
    ["just before the hour is over", { age: 3_599_999 }],
    ["the eleventh time for a released one", { age: 9e9, job: { released: true, attempts: 10 } }],
    [
      "after an hour if the key is refused and none was judged since it came",
      {
        age: 3_600_000,
        call: { why: "not asked", open: "unauthorized", judgedAt: now - 3_600_001 },
      },
    ],
    ["after an hour if the key never worked", { age: 3_600_000, call: refused }],
  ])("withoutVerdict() asks again %s", (_, given) => {
    expect(outcomeOf(given)).toMatchObject({ to: "retry", error: "503" });
  });

  it.each<[string, Given, number]>([
    ["a second at first", {}, 1_000],
    ["as long as its attempts say", { age: 20_000, job: { attempts: 3 } }, 8_000],
    ["as long as the service asked", { call: { retryAfterMs: 30_000 } }, 30_000],
    ["until the next probe", { call: { openMs: 7_000 } }, 7_000],
    ["nothing if it was not asked", { age: 5_000, call: { why: "not asked" } }, 0],
    [
      "as long as its age if the key is to blame",
      { age: 5_000, call: { why: "not asked", open: "unauthorized" } },
      5_000,
    ],
    ["10 s at most if the key is to blame", { age: 60_000, call: { why: "unauthorized" } }, 10_000],
    [
      "longer once its signature may have expired",
      { age: 400_000, call: { why: "not asked" } },
      100_000,
    ],
    ["no longer than the hour", { age: 3_590_000, call: { openMs: 60_000 } }, 10_000],
    [
      "longer than the hour for a released one",
      { age: 3_590_000, job: { released: true }, call: { openMs: 400_000 } },
      400_000,
    ],
  ])("withoutVerdict() asks again after %s", (_, given, afterMs) => {
    expect(outcomeOf(given)).toMatchObject({ to: "retry", afterMs });
  });

  it.each([
    [1, 0, 1_000],
    [2, 1_000, 2_000],
    [4, 7_000, 8_000],
    [5, 15_000, 10_000],
    [40, 5 * minute - 1, 10_000],
    [41, 5 * minute, 10_000],
    [42, 7 * minute, 2 * minute],
    [60, 50 * minute, 5 * minute],
  ])(
    "withoutVerdict() asks again after call %d, at the age of %d ms, within %d ms, less up to a quarter",
    (call, age, most) => {
      const given = { age, job: { attempts: call - 1 } };
      expect(outcomeOf(given)).toMatchObject({ afterMs: most });
      vi.spyOn(Math, "random").mockReturnValue(1);
      expect(outcomeOf(given)).toMatchObject({ afterMs: most * 0.75 });
    },
  );

  it.each([
    [1, 0, 30_000, 30_000],
    [1, 0, 3_600_000, minute],
    [9, 50 * minute, 3_600_000, 5 * minute],
  ])(
    "withoutVerdict() asks again after call %d, at the age of %d ms, when asked for %d ms, in %d ms",
    (call, age, asked, ms) => {
      const given = { age, job: { attempts: call - 1 }, call: { retryAfterMs: asked } };
      expect(outcomeOf(given)).toMatchObject({ afterMs: ms });
    },
  );

  it.each<[string, Given, boolean]>([
    ["a call without an answer", {}, true],
    [
      "a refusal of this signature",
      { job: refusedBefore(1), call: { ...refused, judgedAt: now } },
      true,
    ],
    ["a first refusal", { call: { ...refused, judgedAt: now } }, false],
    ["a refusal of the key", { job: refusedBefore(1), call: refused }, false],
    ["no call", { call: { why: "not asked" } }, false],
    ["no call for a released one", { job: { released: true }, call: { why: "not asked" } }, true],
  ])("withoutVerdict() counts as an attempt or not: %s", (_, given, countsAsAttempt) => {
    expect(outcomeOf(given)).toMatchObject({ countsAsAttempt });
  });

  it.each<[string, Given, boolean]>([
    ["the first call of a silent service", {}, false],
    ["a later one", { job: { attempts: 1 } }, true],
    ["silence while others are judged", { call: { judgedAt: now } }, true],
    ["silence while the breaker is open", { call: { open: "unavailable" } }, true],
    ["an odd answer", odd(0), true],
    ["a refusal", { call: refused }, true],
    ["no call", { call: { why: "not asked", judgedAt: now } }, false],
    ["an expired signature", { age: 300_000, call: { why: "not asked" } }, true],
  ])("withoutVerdict() deprioritizes a delivery or not: %s", (_, given, givesWay) => {
    const outcome = outcomeOf(given);
    expect("lastTurnAt" in outcome).toBe(givesWay);
  });

  it.each<[string, Given, number]>([
    ["a call is a turn", { age: 299_999, job: { attempts: 1 } }, now],
    ["after all young ones once it has expired", { age: 300_000 }, now + 60 * minute],
    [
      "a pause is no turn",
      { age: 300_000, call: { why: "not asked" } },
      now - 300_000 + 60 * minute,
    ],
  ])("withoutVerdict() gives the turn of a deprioritized delivery: %s", (_, given, at) => {
    expect(outcomeOf(given)).toMatchObject({ lastTurnAt: at });
  });

  it("withoutVerdict() keeps its state when it asks again", () => {
    const given = odd(1);
    expect(outcomeOf(given)).toMatchObject({
      retryState: `{"ownFaults":2,"wasUnanswered":false,"refusedAt":${now}}`,
    });
  });
});

describe("suspicion", () => {
  it.each([
    [0, { open: null, judgedAt: never }, true],
    [1, { open: null, judgedAt: never }, false],
    [0, { open: null, judgedAt: 5 }, false],
    [4, { open: "unauthorized", judgedAt: 5 }, true],
    [4, { open: "unavailable", judgedAt: 5 }, false],
  ] as const)("isKeySuspect() of a refusal after %d with %o is %s", (before, service, suspect) => {
    const job = newJob(left({ ownFaults: before }));
    expect(isKeySuspect(job, callOf({ ...refused, ...service }))).toBe(suspect);
    expect(isKeySuspect(job, callOf(service))).toBe(false);
  });
});

describe("reading", () => {
  it("retryStateOf() reads the remembered state, nothing at first", () => {
    expect(retryStateOf({ retryState: null })).toEqual({});
    expect(retryStateOf({ retryState: '{"wasUnanswered":true,"ownFaults":2}' })).toEqual({
      wasUnanswered: true,
      ownFaults: 2,
    });
  });
});

describe("the state after a call", () => {
  const next = (
    why: Unjudged,
    { before, age = 0, ...call }: Given["call"] & { before?: RetryState; age?: number },
  ): RetryState => {
    const outcome = outcomeOf({ age, job: before && left(before), call: { why, ...call } });
    return retryStateOf({ retryState: outcome.retryState ?? null });
  };

  it.each<[Unjudged, CallInVain["open"], boolean]>([
    ["unavailable", null, true],
    ["unknown", null, true],
    ["not asked", "unavailable", true],
    ["not asked", "unauthorized", false],
    ["not asked", null, false],
    ["bad_request", "unavailable", false],
    ["unauthorized", "unavailable", false],
  ])("withoutVerdict() notes an early outage: %s with %s is %s", (why, open, wasUnanswered) => {
    expect(next(why, { open, age: 59_999 }).wasUnanswered).toBe(wasUnanswered);
    expect(next(why, { open, age: 60_000 }).wasUnanswered).toBe(false);
    expect(next(why, { open, age: 60_000, before: { wasUnanswered: true } }).wasUnanswered).toBe(
      true,
    );
  });

  it("withoutVerdict() counts answers that concern this signature", () => {
    expect(next("bad_request", {}).ownFaults).toBe(1);
    expect(next("bad_request", { before: { ownFaults: 2 } }).ownFaults).toBe(3);
    for (const why of ["unavailable", "unknown", "not asked"] as const)
      expect(next(why, { before: { ownFaults: 2 } }).ownFaults).toBe(2);
  });

  it("withoutVerdict() counts a refusal if it is the first, or if another signature was judged since", () => {
    expect(next("unauthorized", {})).toMatchObject({ ownFaults: 1, refusedAt: now });
    const before = { ownFaults: 1, refusedAt: now - 10 };
    const refusedAt = now;
    expect(next("unauthorized", { before, judgedAt: now - 10 })).toMatchObject({
      ownFaults: 1,
      refusedAt,
    });
    expect(next("unauthorized", { before, judgedAt: now - 9 })).toMatchObject({
      ownFaults: 2,
      refusedAt,
    });
  });

  it("withoutVerdict() keeps the time of the last refusal, and has none before", () => {
    expect(next("unavailable", { before: { refusedAt: 5 } }).refusedAt).toBe(5);
    expect(next("unavailable", {})).toEqual({ wasUnanswered: true, ownFaults: 0 });
  });
});

describe("reasons", () => {
  const received = { retryState: null, arrivedAt: 1_000, attempts: 0 };
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
