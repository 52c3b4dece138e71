import { testJob } from "@reporthook/test-support/jobs";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { type Entry, type Job, type Outcome, park, reject } from "../inbox/delivery.ts";
import { hooksOf } from "./hooks.ts";

const job = testJob(5, { attempts: 2, lastError: "before", signature: null });
const handling: Job = {
  ...job,
  state: "verified",
  stage: "handle",
  type: "report.complete",
  reportId: "r",
};
const clock = { ...manualClock(1_000), wallOffset: 100 };
const storing = { ack: "stored", clock } as const;
const noError = (error: unknown): void => expect.unreachable(String(error));
const found = { type: "report.complete", reportId: "r" } as const;
const verified: Outcome = { to: "verified", verification: "valid", ...found };

function told(given: Job, outcome: Outcome): Record<string, Entry> {
  const calls: Record<string, Entry> = {};
  const hook = (name: string) => (entry: Entry) => {
    calls[name] = entry;
  };
  const names = ["acknowledged", "verified", "handled", "failed", "parked"];
  const hooks = Object.fromEntries(names.map((name) => [name, hook(name)]));
  hooksOf(hooks, storing, noError).settled?.(given, outcome);
  return calls;
}

describe("telling", () => {
  it("hooksOf() tells of a verdict, with the entry as it goes on", () => {
    const entry = {
      state: "verified",
      attempts: 0,
      lastError: null,
      error: null,
      nextAttemptAt: null,
      ...found,
    };
    expect(told(job, verified)).toMatchObject({ verified: { id: "1", ...entry } });
    const rejected = reject("invalid_signature", "no");
    expect(Object.keys(told(job, rejected))).toEqual(["verified"]);
  });

  it("hooksOf() tells of parked deliveries", () => {
    const expired = { ...park("held", "expired", "late"), verification: "expired" } as const;
    expect(Object.keys(told(job, expired))).toEqual(["verified", "parked"]);
    const dead = park("dead", "do_not_retry", "no", "DoNotRetry: no");
    const calls = told(handling, dead);
    expect(Object.keys(calls).sort()).toEqual(["failed", "parked"]);
    const entry = { state: "dead", attempts: 3, reason: dead.reason, lastError: "DoNotRetry: no" };
    expect(calls["parked"]).toMatchObject({ ...entry, ...found });
  });

  it("hooksOf() tells of a delivery held on arrival as parked alone, without an attempt", () => {
    const unsigned = { ...park("held", "unsigned", "no"), verification: "unsigned" } as const;
    const calls = told({ ...job, state: "held", attempts: 0 }, unsigned);
    expect(Object.keys(calls)).toEqual(["parked"]);
    expect(calls["parked"]).toMatchObject({ state: "held", attempts: 0, reason: unsigned.reason });
  });

  it("hooksOf() tells of success, and of an attempt that failed", () => {
    const { handled } = told(handling, { to: "handled", ...found });
    expect(handled).toMatchObject({ state: "handled", attempts: 3, lastError: null });
    const again = { to: "retry", afterMs: 500, error: "no", countsAsAttempt: true } as const;
    const { failed } = told(handling, again);
    expect(failed).toMatchObject({
      state: "verified",
      attempts: 3,
      nextAttemptAt: new Date(1_600),
    });
    expect(told(job, again)).toEqual({});
    expect(told(handling, { ...again, countsAsAttempt: false })).toEqual({});
    expect(Object.keys(told(handling, park("held", "no_handler", "no")))).toEqual(["parked"]);
  });

  it("hooksOf() calls a hook as the method that it may be, and tells of nothing parked without a store", () => {
    class Counting {
      #count = 0;
      handled = (): number => this.#count++;
      failed(): void {
        this.#count++;
      }
      parked(): void {
        expect.unreachable();
      }
      get count(): number {
        return this.#count;
      }
    }
    const counting = new Counting();
    const { settled } = hooksOf(counting, { ack: "handled", clock }, noError);
    settled?.(handling, { to: "handled" });
    settled?.(handling, park("dead", "do_not_retry", "because"));
    expect(counting.count).toBe(2);
  });

  it("hooksOf() needs no hook", () => {
    expect(() => hooksOf({}, storing, noError).settled?.(job, verified)).not.toThrow();
  });
});

describe("failures", () => {
  it("a hook may throw, at once or later: that is handed on", async () => {
    const onError = vi.fn();
    const broken = new Error("broken");
    const throwing = () => {
      throw broken;
    };
    hooksOf({ verified: throwing }, storing, onError).settled?.(job, verified);
    const rejecting: () => void = () => Promise.reject(broken);
    hooksOf({ verified: rejecting }, storing, onError).settled?.(job, verified);
    await new Promise((resolve) => setImmediate(resolve));
    expect(onError.mock.calls).toEqual([[broken], [broken]]);
  });
});
