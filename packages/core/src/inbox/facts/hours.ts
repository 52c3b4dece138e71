import { addCounts } from "../../lib/add-counts.ts";
import { tryGet } from "../../lib/safe-get.ts";
import { hourMs } from "../../lib/time/units.ts";
import type { Notes } from "./facts.ts";

/** The numbers of one hour. */
export interface Hour {
  /** The beginning of the hour. */
  readonly at: Date;
  /** By name: `accepted`, `handled`, `held/REASON` and others, as the processes have counted them. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The beginning of the keys of the numbers of hours. */
export const hourKey = "hour/";
const keptHours = 30 * 24;

/** The hours in notes, oldest first, from the one of `from` on. */
export function hoursIn(notes: Notes, from: Date): Hour[] {
  const hours = new Map<number, Record<string, number>>();
  for (const [key, text] of Object.entries(notes)) {
    const number = numberIn(key);
    if ((number + 1) * hourMs <= from.getTime()) continue;
    const sum = hours.get(number) ?? {};
    hours.set(number, sum);
    addCounts(sum, tryGet(() => JSON.parse(text) as Hour["counts"] | null) ?? {});
  }
  return [...hours]
    .sort(([one], [other]) => one - other)
    .map(([number, counts]) => ({ at: new Date(number * hourMs), counts }));
}

/** The keys of hours that are no longer kept at `wallAt`. */
export function oldHours(notes: Notes, wallAt: number): string[] {
  const oldest = Math.floor(wallAt / hourMs) - keptHours;
  return Object.keys(notes).filter((key) => numberIn(key) < oldest);
}

function numberIn(key: string): number {
  return Number(key.slice(hourKey.length).split("/")[0]);
}
