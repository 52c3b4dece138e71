import type { Facts } from "../inbox/facts/facts.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { RequestCounts } from "../inbox/request-store.ts";
import { type ProcessReport, processReportsIn } from "./process-report.ts";

/** The note with the problems that alerts have told; the keys of all from which problems follow begin with `now/`. */
export const toldKey = "now/told";

/** A look at an inbox. */
export interface Look {
  readonly facts: Facts;
  /** The number of requests by state; null of an inbox that keeps none. */
  readonly requests: RequestCounts | null;
  /** The requests that are overdue: how many, and since when the oldest is. */
  readonly overdue: { readonly count: number; readonly since: number } | null;
  /** Of the processes that spoke in the last hour, or tell something still, the latest first. */
  readonly reports: readonly ProcessReport[];
  /** The problems that alerts have told; null if none were. */
  readonly told: string | null;
}

/** Looks at a receiver's inbox. */
export async function lookAt(inbox: Inbox, receiver: string): Promise<Look> {
  const [facts, notes, requests = null] = await Promise.all([
    inbox.facts(receiver),
    inbox.notes(receiver, "now/"),
    inbox.requests?.counts(receiver),
  ]);
  const { [toldKey]: told = null } = notes;
  const overdue = await overdueIn(inbox, receiver, requests?.overdue ?? 0);
  return { facts, requests, overdue, reports: processReportsIn(notes), told };
}

async function overdueIn(inbox: Inbox, receiver: string, count: number): Promise<Look["overdue"]> {
  if (count === 0) return null;
  // One that was asked for later may be due earlier.
  const oldest = (await inbox.requests?.list({ receiver, state: "overdue", limit: 100 })) ?? [];
  if (oldest.length === 0) return null;
  return { count, since: Math.min(...oldest.map(({ dueAt }) => dueAt)) };
}

/** All that is known of a receiver at a moment. */
export interface Situation extends Pick<Look, "overdue" | "reports"> {
  readonly receiver: string;
  readonly now: number;
  /** Whether a signed notification was ever valid here. */
  readonly everValid: boolean;
  /** Null while the inbox gives no answer. */
  readonly facts: Facts | null;
  /** Since when the inbox says that it fails, to the one that asks. */
  readonly fails: ProcessReport["fails"];
  /** The processes that speak. */
  readonly living: readonly ProcessReport[];
  /** Since when the one that asks has watched the others: before that it can't tell that one is silent. */
  readonly watchedSince: number;
}
