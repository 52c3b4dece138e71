import { testStages } from "@reporthook/test-support/jobs";
import { expect, it } from "vitest";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { afterFailure } from "./after-failure.ts";

const { clock, job } = testStages(() => "valid");

function after(attempts: number, failures: unknown[], minMs: number, maxMs = 3_600_000) {
  const retry = { attempts: Number.POSITIVE_INFINITY, minMs, maxMs };
  const options = { redact: String, clock: new LivedClock(clock), retry };
  return afterFailure(job({ attempts: attempts - 1 }), failures, options);
}

function delayMs(attempts: number, minMs: number, maxMs?: number): unknown {
  const outcome = after(attempts, ["failed"], minMs, maxMs);
  return outcome.to === "retry" && outcome.afterMs;
}

it("afterFailure() joins the failures of several handlers in one AggregateError", () => {
  const { error, err } = after(1, [new Error("one"), "two"], 0);
  expect(error).toMatch(/^AggregateError: Several handlers failed: Error: one; two/);
  expect(err).toBeInstanceOf(AggregateError);
});

it("afterFailure() doubles the delay from minMs to maxMs, less up to a quarter", () => {
  for (let attempts = 1; attempts < 2_000; attempts++) {
    expect(delayMs(attempts, 0)).toBe(0);
    const most = Math.min(1_000 * 2 ** (attempts - 1), 3_600_000);
    expect(delayMs(attempts, 1_000)).toBeLessThanOrEqual(most);
    expect(delayMs(attempts, 1_000)).toBeGreaterThanOrEqual(most * 0.75);
  }
});

it("afterFailure() waits so long at most that a Date can show the next attempt", () => {
  const most = Number.MAX_SAFE_INTEGER;
  for (const delay of [delayMs(1, most, most), delayMs(1_000, 1_000, most)]) {
    expect(new Date(Date.now() + Number(delay)).getFullYear()).toBeLessThan(2_200);
  }
});
