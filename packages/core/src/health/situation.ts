import type { Facts } from "../inbox/facts/facts.ts";
import type { News } from "./news.ts";
import type { Problem } from "./problem.ts";

/** Milliseconds between two signs of life, and those without one after which a process is silent. */
export const lifeSignMs = 5_000;
const silentMs = 2 * lifeSignMs;

/** A process on the inbox, and its news. Times are lived times in milliseconds. */
export interface ProcessReport {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** The version of this package. */
  readonly version: string;
  readonly since: number;
  /** Its last sign of life. */
  readonly at: number;
  readonly hasEnded: boolean;
  readonly news: News;
}

/** Requests that are overdue: how many, and since when the oldest is. */
export interface Overdue {
  readonly count: number;
  readonly since: number;
}

/** All that is known of a receiver. */
export interface Knowledge {
  /** Null while the inbox gives no answer. */
  readonly facts: Facts | null;
  readonly overdue: Overdue | null;
  /** Of this process, and of others. */
  readonly reports: readonly ProcessReport[];
  /** Why a tool found that nothing can be stored: it has no report. */
  readonly failure: string | null;
  /** Whether a signed notification was ever valid here. */
  readonly everValid: boolean;
  /** Since when other processes are watched. */
  readonly watchedSince: number;
}

/** A problem by lived time; its command is one of the program `reporthook`. */
export interface FoundProblem extends Omit<Problem, "since" | "url"> {
  readonly since: number;
}

/** The knowledge that the judges share. */
export interface Situation extends Knowledge {
  readonly now: number;
  /** The processes that speak. */
  readonly living: readonly ProcessReport[];
  /** The processes that are believed about the service: one that is gone only until another one had a verdict since. */
  readonly believed: readonly ProcessReport[];
  readonly judgedAt: number;
  readonly validAt: number;
}

const never = Number.NEGATIVE_INFINITY;

/** The processes that speak, of those watched since a moment. */
export function livingOf(
  reports: readonly ProcessReport[],
  now: number,
  watchedSince: number = never,
): ProcessReport[] {
  return reports.filter(
    ({ hasEnded, at }) => !hasEnded && now - Math.max(at, watchedSince) < silentMs,
  );
}

/** The situation at a moment. */
export function situationAt(now: number, known: Knowledge): Situation {
  const { reports } = known;
  const living = livingOf(reports, now, known.watchedSince);
  const judgedAt = Math.max(never, ...reports.map(({ news }) => news.judgedAt ?? never));
  const validAt = Math.max(never, ...reports.map(({ news }) => news.validAt ?? never));
  const isOutdated = (report: ProcessReport): boolean =>
    reports.some((other) => other !== report && (other.news.judgedAt ?? never) > report.at);
  return {
    ...known,
    everValid: known.everValid || validAt > never,
    now,
    living,
    believed: reports.filter((report) => living.includes(report) || !isOutdated(report)),
    judgedAt,
    validAt,
  };
}
