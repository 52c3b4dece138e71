import { manualClock } from "@reporthook/testing/internals";
import { expect, it } from "vitest";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { createRate } from "./rate.ts";

it("createRate() permits ten calls in any second, also once lived time has gone back by hours", () => {
  const given = manualClock(1_000_000_000);
  const clock = new LivedClock(given);
  const mayBegin = createRate(clock);
  const ten = (): boolean[] => Array.from({ length: 10 }, mayBegin);
  expect([mayBegin(), mayBegin()]).toEqual([true, true]);
  clock.goOnFrom(clock.now() - 3 * 3_600_000, 0);
  expect(ten().filter(Boolean)).toHaveLength(8);
  given.advance(999);
  expect(mayBegin()).toBe(false);
  given.advance(1);
  expect(ten().every(Boolean)).toBe(true);
  expect(mayBegin()).toBe(false);
});
