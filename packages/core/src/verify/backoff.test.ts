import { describe, expect, it } from "vitest";
import { authorizeBackoffMs, handlerBackoffMs } from "./backoff.ts";

const minute = 60_000;

describe("handlers", () => {
  it("handlerBackoffMs() doubles from minMs to maxMs, less up to a quarter", () => {
    const retry = { attempts: 10, minMs: 1_000, maxMs: 3_600_000 };
    for (let attempts = 1; attempts < 2_000; attempts++) {
      expect(handlerBackoffMs(attempts, { ...retry, minMs: 0 })).toBe(0);
      const most = Math.min(1_000 * 2 ** (attempts - 1), 3_600_000);
      const delay = handlerBackoffMs(attempts, retry);
      expect(delay).toBeLessThanOrEqual(most);
      expect(delay).toBeGreaterThanOrEqual(most * 0.75);
    }
  });
});

describe("authorize", () => {
  it("authorizeBackoffMs() doubles from 1 s to 10 s while the signature may be valid, then grows to 5 minutes", () => {
    for (const [attempts, age, most] of [
      [1, 0, 1_000],
      [2, 1_000, 2_000],
      [4, 7_000, 8_000],
      [5, 15_000, 10_000],
      [40, 5 * minute - 1, 10_000],
      [41, 5 * minute, 10_000],
      [42, 7 * minute, 2 * minute],
      [60, 50 * minute, 5 * minute],
    ] as const) {
      const delay = authorizeBackoffMs(attempts, age, 0);
      expect(delay).toBeLessThanOrEqual(most);
      expect(delay).toBeGreaterThanOrEqual(most * 0.75);
    }
  });

  it("authorizeBackoffMs() is as long as the service asks, within bounds", () => {
    expect(authorizeBackoffMs(1, 0, 30_000)).toBe(30_000);
    expect(authorizeBackoffMs(1, 0, 3_600_000)).toBe(minute);
    expect(authorizeBackoffMs(9, 50 * minute, 3_600_000)).toBe(5 * minute);
  });
});
