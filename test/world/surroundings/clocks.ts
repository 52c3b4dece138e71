import type { Chance } from "./chance.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** By how much clocks are wrong: by more than a world waits for anything. */
const wrong = [3 * hourMs, 8 * hourMs, 31 * dayMs, 1_900 * dayMs];

/** By how much a clock is ahead, in milliseconds. */
export function wrongBy(chance: Chance): number {
  return chance.yes(50) ? chance.one(wrong) : -chance.one(wrong);
}
