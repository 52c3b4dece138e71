import type { ProcessReport } from "./process-report.ts";

/** The report of a process while it changes. */
export type Noted = { -readonly [Name in keyof ProcessReport]: ProcessReport[Name] };

/** Takes over, from those of all reports that are to be forgotten, what stays true until a verdict ends it. */
export function takeOver(
  noted: Noted,
  old: readonly ProcessReport[],
  all: readonly ProcessReport[],
): void {
  for (const { at, judgedAt, validAt, newest, service, refusedSince, invalid } of old) {
    noted.judgedAt = laterOf(noted.judgedAt, judgedAt);
    noted.validAt = laterOf(noted.validAt, validAt);
    noted.newest = laterOf(noted.newest, newest);
    noted.invalid = bothOf(noted.invalid, invalid);
    if (noted.service === "unknown") noted.service = service;
    // A verdict of another process tells that the key is accepted.
    if (all.every((one) => (one.judgedAt ?? 0) <= at)) noted.refusedSince ??= refusedSince;
  }
}

function laterOf(one: number | null, other: number | null): number | null {
  return one === null ? other : Math.max(one, other ?? one);
}

/** Two runs of invalid signatures as one. */
function bothOf(one: ProcessReport["invalid"], other: ProcessReport["invalid"]): typeof one {
  if (one === null || other === null) return one ?? other;
  return {
    since: Math.min(one.since, other.since),
    count: one.count + other.count,
    latest: [...one.latest, ...other.latest].sort((first, second) => first - second).slice(-5),
    hasToken: one.hasToken || other.hasToken,
  };
}
