import type { Facts } from "../inbox/facts.ts";
import type { News } from "./news.ts";
import type { Problem } from "./problem.ts";

/** A process on the inbox, and its news. Times are lived times in milliseconds. */
export interface ProcessReport {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** The version of this package. */
  readonly version: string;
  readonly since: number;
  /** Its last sign of life, and the milliseconds until the next one. */
  readonly at: number;
  readonly everyMs: number;
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

const never = Number.NEGATIVE_INFINITY;

/** The processes that speak, of those watched since a moment. */
export function livingOf(
  reports: readonly ProcessReport[],
  now: number,
  watchedSince: number = Number.NEGATIVE_INFINITY,
): ProcessReport[] {
  return reports.filter(
    ({ hasEnded, at, everyMs }) => !hasEnded && now - Math.max(at, watchedSince) < 2 * everyMs,
  );
}

/** The knowledge that the judges share. */
export class Situation {
  readonly facts: Facts | null;
  readonly overdue: Overdue | null;
  readonly reports: readonly ProcessReport[];
  readonly now: number;
  readonly failure: string | null;
  readonly everValid: boolean;
  /** The processes that speak. */
  readonly living: readonly ProcessReport[];
  readonly judgedAt: number;
  readonly validAt: number;

  constructor(known: Knowledge, now: number) {
    const { facts, overdue, reports, failure, everValid, watchedSince } = known;
    this.facts = facts;
    this.failure = failure;
    this.overdue = overdue;
    this.reports = reports;
    this.now = now;
    this.living = livingOf(reports, now, watchedSince);
    this.judgedAt = Math.max(never, ...reports.map(({ news }) => news.judgedAt ?? never));
    this.validAt = Math.max(never, ...reports.map(({ news }) => news.validAt ?? never));
    this.everValid = everValid || this.validAt > never;
  }

  /** The processes that are believed about the service: one that is gone only until another one had a verdict since. */
  get believed(): readonly ProcessReport[] {
    const isLater = (report: ProcessReport) => (other: ProcessReport) =>
      other !== report && (other.news.judgedAt ?? never) > report.at;
    return this.reports.filter(
      (report) => this.living.includes(report) || !this.reports.some(isLater(report)),
    );
  }

  /** Whether a moment is less than so many milliseconds ago. */
  isSince(moment: number, ms: number): boolean {
    return this.now - moment < ms;
  }
}
