import type { Notes } from "../inbox/facts/facts.ts";
import { tryGet } from "../lib/safe-get.ts";
import { hourMs } from "../lib/time/units.ts";

/** Milliseconds between two signs of life. */
export const lifeSignMs = 5_000;
/** Milliseconds without one after which a process is silent: two are missing. */
export const silenceMs = 10_000;
/** With what the keys of notes begin in which processes report. */
export const processKeys = "now/process/";
/** The most processes that are remembered for over an hour. */
const maxTelling = 20;

/** How the service answered last; `failing`: it answers, with no verdict. */
export type ServiceStatus = "unknown" | "ok" | "unreachable" | "refused" | "failing";

/** A process on the inbox, and what it knows alone, as it tells others: nothing else is known. Times are lived times in milliseconds. */
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
  /** Whether this process sends alerts. */
  readonly alerts: boolean;
  readonly service: ServiceStatus;
  readonly refusedSince?: number | undefined;
  readonly judgedAt?: number | undefined;
  readonly validAt?: number | undefined;
  /** When the newest notification was received that was accepted, by the wall clock. */
  readonly newest?: number | undefined;
  /** The verdicts in the last minute. */
  readonly judged: number;
  /** The calls since the last verdict. */
  readonly vain?:
    | {
        readonly since: number;
        /** When the last one ended. */
        readonly at: number;
        /** Whether each answer may concern one signature, and a delivery of each of these signatures: five at most. */
        readonly isSingle: boolean;
        readonly ids: readonly string[];
        /** The error of the last one. */
        readonly error: string;
      }
    | undefined;
  /** The verdicts `invalid` since the last valid one, and when the last five of them came. */
  readonly invalid?:
    | {
        readonly since: number;
        readonly count: number;
        readonly latest: readonly number[];
        readonly hasToken: boolean;
      }
    | undefined;
  /** The notifications that were turned away in the last hour, by minute: `doubtful` ones may have been a stranger's. */
  readonly lost?:
    | {
        readonly since: number;
        readonly certainAt: number;
        readonly minutes: readonly (readonly [minute: number, certain: number, doubtful: number])[];
      }
    | undefined;
  /** The unsigned ones that came in the last hour, with the names of the headers of the last. */
  readonly unsigned?:
    | {
        readonly since: number;
        readonly at: number;
        readonly headers: readonly string[];
      }
    | undefined;
  /** Since when handlers fail of deliveries that wait for another attempt. */
  readonly failingSince?: number | undefined;
  /** Since when nothing can be stored. */
  readonly fails?: { readonly since: number; readonly error: string } | undefined;
  readonly stoodStill?: { readonly at: number; readonly ms: number } | undefined;
  /** When each problem began that this process saw last; nothing before it has looked. */
  readonly open?: Readonly<Record<string, number>> | undefined;
}

/** The processes that speak. */
export function livingOf(reports: readonly ProcessReport[], now: number): ProcessReport[] {
  return reports.filter(({ hasEnded, at }) => !hasEnded && now - at < silenceMs);
}

/** The latest of several times, of which some are not known; `-Infinity` if none is. */
export function latestOf(times: readonly (number | null | undefined)[]): number {
  return Math.max(...times.map((time) => time ?? Number.NEGATIVE_INFINITY));
}

/** Whether what a process said of the service still stands, where the last verdict came at a time: it has asked in vain since. */
export function isLastWord({ at, vain }: ProcessReport, judgedAt: number): boolean {
  return judgedAt <= (vain?.at ?? at);
}

/** The reports to forget: of processes silent for over an hour, without the last ones from which something follows still. */
export function outdatedIn(reports: readonly ProcessReport[], now: number): ProcessReport[] {
  const judgedAt = latestOf(reports.map((one) => one.judgedAt));
  const validAt = latestOf(reports.map((one) => one.validAt));
  // The last verdicts are told for good.
  const isLatest = (one: ProcessReport): boolean =>
    one.judgedAt === judgedAt || one.validAt === validAt;
  const isTelling = (one: ProcessReport): boolean =>
    (Number.isFinite(one.refusedSince) && isLastWord(one, judgedAt)) ||
    (one.invalid ? latestOf(one.invalid.latest) >= validAt : false);
  const old = reports.filter(({ at }) => now - at > hourMs);
  const kept = [...old.filter(isLatest), ...old.filter(isTelling).slice(0, maxTelling)];
  return old.filter((one) => !kept.includes(one));
}

/** The note of a report; of one that is to be forgotten, null. */
export function noteOf(report: ProcessReport, isForgotten = false): Record<string, string | null> {
  return { [processKeys + report.id]: isForgotten ? null : JSON.stringify(report) };
}

/** The reports among notes, the latest first. One of another version may be of another kind. */
export function processReportsIn(notes: Notes): ProcessReport[] {
  return Object.entries(notes)
    .filter(([key]) => key.startsWith(processKeys))
    .flatMap(([, text]) => tryGet(() => JSON.parse(text) as ProcessReport | null) ?? [])
    .filter(({ at, since }) => Number.isFinite(at) && Number.isFinite(since))
    .sort((one, other) => other.at - one.at);
}
