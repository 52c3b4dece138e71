import type {
  Entry,
  EntryDetails,
  ErrorGroup,
  Health,
  Hour,
  LoggedAct,
  ReasonCode,
  RequestCounts,
  RequestRecord,
  Summary,
} from "@reporthook/core";
import type { InboxProcess } from "@reporthook/core/store";

// The data of the page, as JSON: times are texts.

/** A type after its way through JSON. */
export type Wire<T> = T extends Date
  ? string
  : T extends object
    ? { readonly [K in keyof T]: Wire<T[K]> }
    : T;

/** A user of the dashboard, and whether they may release, retry and discard. */
export interface Person {
  readonly name: string;
  readonly may: "view" | "act";
}

/** A delivery in a list. */
export type WireEntry = Wire<Entry>;

/** A delivery in full. */
export interface WireDelivery extends Wire<Omit<EntryDetails, "body" | "context">> {
  /** As JSON text, without secrets. */
  readonly context: string | null;
  readonly body: {
    readonly text: string;
    /** Whether it goes on: `api/deliveries/ID/body` has all of it. */
    readonly isCut: boolean;
  } | null;
}

/** The number of characters of a body that are shown with its delivery. */
export const maxBodyLength = 65_536;

/** The number of deliveries at the beginning of a list, and of older ones added at a time. */
export const pageLength = 50;
/** The maximum length of a list: all of it is read each second. */
export const maxListLength = 200;

/** Every view has these. */
export interface WireView {
  readonly viewer: Person;
  /** The name of the receiver. */
  readonly receiver: string;
  /** How many requests for reports the inbox keeps; null if it keeps none. */
  readonly reports: RequestCounts | null;
}

/** A list, newest first. */
export interface WirePage<T> extends WireView {
  readonly entries: readonly T[];
  /** Whether there are more. */
  readonly more: boolean;
}

/** `api/deliveries`; `limit` says how many. */
export interface WireList extends WirePage<WireEntry> {
  /** How many fit; null where the inbox does not count that. */
  readonly total: number | null;
  /** When a parked one changed last, as they were counted; null without any. */
  readonly parkedChangedAt: string | null;
  /** Of parked ones: the largest groups of equal errors, or the one that is asked for. */
  readonly groups: readonly WireGroup[];
}

/** A group of equal errors. */
export interface WireGroup extends Pick<ErrorGroup, "error" | "text" | "count"> {
  /** The number that somebody vouches for: a release of the group takes these alone. */
  readonly releasable: number;
}

/** `api/deliveries/ID`. */
export interface WireOne extends WireView {
  /** Null when there is none with this id. */
  readonly delivery: WireDelivery | null;
}

/** A request for a report; in a list only the beginnings of its three texts. */
export interface WireReport extends Wire<Omit<RequestRecord, "report" | "context" | "answer">> {
  /** As JSON text, without secrets, like the next two. */
  readonly report: string | null;
  readonly context: string | null;
  readonly answer: string | null;
}

/** `api/reports`; `of` says whether open, overdue or done, `limit` how many, `after` the id beyond which. */
export type WireReports = WirePage<WireReport>;

/** `api/reports/ID`. */
export interface WireReportOne extends WireView {
  /** Null when there is none with this id. */
  readonly report: WireReport | null;
  /** The first of its deliveries; null where the inbox can't look for them. */
  readonly deliveries: readonly WireEntry[] | null;
}

/** `api/overview` of an inbox that fails. */
export interface WireJudged
  extends WireView,
    Wire<Pick<Health, "ready" | "inbox" | "service" | "problems">> {
  /** Of those on the inbox in the last hour. */
  readonly processes: readonly Wire<InboxProcess>[];
}

/** `api/overview`: with what the inbox has. The minutes are those of the last hour. */
export interface WireOverview extends WireJudged, Wire<Summary>, Wire<Pick<Health, "counts">> {
  /** The largest groups of equal errors of each reason. */
  readonly errors: Readonly<Partial<Record<ReasonCode, readonly WireGroup[]>>>;
  /** Of the last 7 days. */
  readonly hours: readonly Wire<Hour>[];
  /** The last acts of people, newest first. */
  readonly acts: readonly Wire<LoggedAct>[];
}
