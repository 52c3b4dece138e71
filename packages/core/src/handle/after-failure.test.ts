import { testStages } from "@reporthook/test-support/jobs";
import { expect, it } from "vitest";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { afterFailure } from "./after-failure.ts";

const { clock, job } = testStages(() => "valid");

it("afterFailure() doubles the delay from minMs to maxMs, less up to a quarter", () => {
  const delayMs = (attempts: number, minMs: number): unknown => {
    const retry = { attempts: Number.POSITIVE_INFINITY, minMs, maxMs: 3_600_000 };
    const options = { redact: String, clock: new LivedClock(clock), retry };
    const outcome = afterFailure(job({ attempts: attempts - 1 }), ["failed"], options);
    return outcome.to === "retry" && outcome.afterMs;
  };
  for (let attempts = 1; attempts < 2_000; attempts++) {
    expect(delayMs(attempts, 0)).toBe(0);
    const most = Math.min(1_000 * 2 ** (attempts - 1), 3_600_000);
    expect(delayMs(attempts, 1_000)).toBeLessThanOrEqual(most);
    expect(delayMs(attempts, 1_000)).toBeGreaterThanOrEqual(most * 0.75);
  }
});
