import type { Facts, Notes } from "../inbox/facts/facts.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { RequestCounts } from "../inbox/request-store.ts";
import { tryGet } from "../lib/safe-get.ts";
import type { Overdue, ProcessReport } from "./situation.ts";

/** The beginning of the keys of all notes from which problems follow. */
const now = "now/";
/** The note that a signed notification was valid. */
export const validKey: string = `${now}valid`;
/** The note with the problems that alerts have told. */
export const toldKey: string = `${now}told`;
const processes = `${now}process/`;

/** A look at an inbox. */
export interface Look {
  readonly facts: Facts;
  /** The number of requests by state; null of an inbox that keeps none. */
  readonly requests: RequestCounts | null;
  readonly overdue: Overdue | null;
  /** Of all processes that spoke in the last hour. */
  readonly reports: readonly ProcessReport[];
  readonly everValid: boolean;
  /** The problems that alerts have told; null if none were. */
  readonly told: string | null;
}

/** Looks at a receiver's inbox. */
export async function lookAt(inbox: Inbox, receiver: string): Promise<Look> {
  const [facts, notes, requests = null] = await Promise.all([
    inbox.facts(receiver),
    inbox.notes(receiver, now),
    inbox.requests?.counts(receiver),
  ]);
  const reports = Object.entries(notes).flatMap(([key, text]) =>
    key.startsWith(processes) ? reportIn(text) : [],
  );
  const { [toldKey]: told = null } = notes;
  const overdue = await overdueIn(inbox, receiver, requests?.overdue ?? 0);
  return { facts, requests, overdue, reports, everValid: validKey in notes, told };
}

async function overdueIn(inbox: Inbox, receiver: string, count: number): Promise<Overdue | null> {
  if (count === 0) return null;
  // One that was asked for later may be due earlier.
  const oldest = (await inbox.requests?.list({ receiver, state: "overdue", limit: 100 })) ?? [];
  if (oldest.length === 0) return null;
  return { count, since: Math.min(...oldest.map(({ dueAt }) => dueAt)) };
}

/** The note of a report; of one that is to be forgotten, null. */
export function noteOf(report: ProcessReport, isForgotten = false): Record<string, string | null> {
  return { [processes + report.id]: isForgotten ? null : JSON.stringify(report) };
}

/** A report of another version may be of another kind. */
function reportIn(text: Notes[string]): ProcessReport[] {
  const report = tryGet(() => JSON.parse(text) as ProcessReport | null);
  return typeof report?.news === "object" && Number.isFinite(report.at) ? [report] : [];
}
