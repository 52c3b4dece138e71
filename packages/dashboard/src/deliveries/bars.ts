import type { Hour, Minute } from "@reporthook/core";
import { sumOf } from "@reporthook/core/store";
import type { Source } from "./source.ts";
import type { WireBar } from "./wire.ts";

const weekMs = 604_800_000;

/** The bars of the hours of the last week. */
export async function hourBars(inbox: Source["inbox"]): Promise<WireBar[]> {
  return (await inbox.hours(new Date(Date.now() - weekMs))).map(barOfHour);
}

/** The bar of a minute. */
export function barOfMinute({ at, counts }: Minute): WireBar {
  const { received, verified, handled, held, dead, rejected } = counts;
  return {
    at: at.toISOString(),
    handled,
    waiting: received + verified,
    parked: held + dead,
    rejected,
  };
}

function barOfHour({ at, counts }: Hour): WireBar {
  const sum = (pattern: RegExp): number =>
    sumOf(Object.fromEntries(Object.entries(counts).filter(([name]) => pattern.test(name))));
  return {
    ...{ at: at.toISOString(), waiting: 0, handled: sum(/^handled$/) },
    ...{ parked: sum(/^(held|dead)\//), rejected: sum(/^rejected\//) },
  };
}
