import type { ReasonCounts } from "../counts.ts";
import type { InboxFilters, InboxQuery } from "../query.ts";

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
