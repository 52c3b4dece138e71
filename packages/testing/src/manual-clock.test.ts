import { newId, timeOf } from "@reporthook/core/store";
import { expect, it } from "vitest";
import { manualClock } from "./manual-clock.ts";

it("manualClock() begins where the ids of its process are: none that it dates is ahead of it", () => {
  newId(Date.now() + 700);
  const clock = manualClock();
  expect(timeOf(newId(clock.now()))).toBe(clock.now());
  clock.advance(1);
  expect(timeOf(newId(clock.now()))).toBe(clock.now());
});
