import type { EventType } from "../../events/events.ts";
import { isParked, type ReasonCode, type State } from "../delivery.ts";

/** The filters of a list, and of a selection. */
export interface InboxFilters {
  /** In this state; `parked` is held or dead. */
  readonly state?: State | "parked" | undefined;
  /** With this event type, known once it is verified. */
  readonly type?: EventType | undefined;
  /** Of this report. */
  readonly reportId?: string | undefined;
  /** That came to the callback URL of this request. */
  readonly requestId?: string | undefined;
  /** Parked or rejected for this reason. */
  readonly reason?: ReasonCode | undefined;
  /** With this key of a group of equal errors. */
  readonly error?: string | undefined;
  /** Received at this moment or later, by the time in their ids. */
  readonly from?: Date | undefined;
  /** Received before this moment, by the time in their ids. */
  readonly until?: Date | undefined;
  /** Only entries whose id begins with this text. */
  readonly idPrefix?: string | undefined;
}

/** The filters and the order of a list. */
export interface InboxQuery extends InboxFilters {
  /** Of this receiver; of all when left out. */
  readonly receiver?: string | undefined;
  /** Oldest first when left out. */
  readonly newestFirst?: boolean | undefined;
  /** At most this many; 100 when left out. */
  readonly limit?: number | undefined;
  /** Only entries after this id, in the order of the list. */
  readonly after?: string | undefined;
}

/** Whether a state is one of those asked for. */
export function isChosen(state: State, asked: InboxQuery["state"]): boolean {
  return asked === undefined || asked === state || (asked === "parked" && isParked(state));
}

/** The number of entries by reason; by state where they have no reason. */
export type ReasonCounts = Readonly<Partial<Record<ReasonCode | State, number>>>;

/** The entries to act on: those that fit all filters, of which at least one is given. */
export interface Selection extends InboxFilters {
  /** Leaves alone what has changed after this moment: the newest `changedAt` that was shown. */
  readonly unchangedSince?: Date | undefined;
}

/** An act of a person: entries run again, waiting ones are due now, or parked ones are deleted. */
export type Act = "release" | "retry" | "discard";

/** The question of {@link Inbox.act}. */
export interface ActQuery extends Selection {
  readonly act: Act;
  /** Of this receiver; of all when left out. */
  readonly receiver?: string | undefined;
  /** This entry alone; then the filters are left out. */
  readonly id?: string | undefined;
  /** Lived time, in milliseconds. */
  readonly now: number;
  /** Milliseconds to add to it for people; none when left out. */
  readonly wallOffset?: number | undefined;
  /** Null when nobody is named. */
  readonly by: string | null;
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean | undefined;
}

/** The question of {@link Inbox.acts}. */
export type ActsQuery = Pick<InboxQuery, "receiver" | "limit">;

/** The question of {@link Inbox.summary}. */
export interface SummaryQuery {
  readonly receiver?: string | undefined;
  /** The span of time whose minutes are counted. */
  readonly from: Date;
  readonly until: Date;
}

/** The question of {@link Inbox.errors}: about parked entries when no state is given. */
export type ErrorsQuery = Pick<InboxQuery, "receiver" | "state">;

/** The question of {@link Inbox.erase}: the deliveries of one report, or of one request. */
export interface EraseQuery
  extends Pick<
    ActQuery,
    "receiver" | "reportId" | "requestId" | "now" | "wallOffset" | "by" | "dryRun"
  > {
  /** The requests of the report, whose deliveries are meant too. */
  readonly requestIds?: readonly string[] | undefined;
}

/** The entries of one step of an act. */
export interface ActStep {
  readonly counts: ReasonCounts;
  /** The newest `changedAt` among them before the act; null without any. */
  readonly changedAt: Date | null;
}
