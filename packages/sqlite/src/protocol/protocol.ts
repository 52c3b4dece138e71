import type { InboxQuery, ReleaseQuery, Stage, SummaryQuery } from "@reporthook/core";
import type { Retention } from "@reporthook/core/store";
import type { Row, Value } from "../database/driver.ts";

/** An owner whose beat stands still for so long (milliseconds of real time) has lost its leases. */
export const lostAfterMs: number = 5_000;
/** How often an owner that holds leases beats, in milliseconds. */
export const beatMs: number = 1_000;
/** How many deliveries a person or time changes in one transaction. */
export const atOnce: number = 500;

/** What the thread is started with. */
export interface ThreadOptions {
  readonly path: string;
  /** A module's name, or the best there is. */
  readonly driver: string | undefined;
  readonly migrate: boolean;
  /** How long what has ended is kept, in milliseconds. */
  readonly retention: Retention;
}

/**
 * Deliveries to be stored that came one after the other and are alike, as most of one sender are. What each has of its own
 * is in lists of the same order, for the names of properties would cross to the thread with each.
 */
export interface Alike {
  readonly receiver: string;
  readonly url: string;
  readonly headers: string;
  readonly context: string | null;
  readonly kind: number;
  /** The values of the columns `changing`, when they do not begin as received. */
  readonly changes: readonly Value[] | null;
  readonly ids: readonly string[];
  readonly receivedAt: readonly number[];
  readonly ackMs: readonly number[];
  readonly signatures: readonly (string | null)[];
  /** Their bytes follow each other in {@link Request.bytes}: body, then key. */
  readonly bodyBytes: readonly number[];
  /** 0 without a key. */
  readonly keyBytes: readonly number[];
}

/** What became of one attempt. */
export type Recorded = readonly [
  seq: number,
  /** The stage it was leased for, and the owner. */
  stage: Stage,
  owner: number,
  receiver: string,
  kindBefore: number,
  kindAfter: number,
  /** What came of it is no longer kept: its body, path and query. */
  isDropped: boolean,
  /** The values of the columns `changing`. */
  changes: readonly Value[],
];

/** How a lane, the consumer of one receiver's stage, stands; one that is not told of any more has ended. */
export interface LaneState {
  readonly lane: number;
  readonly receiver: string;
  readonly stage: Stage;
  /** By its receiver's clock. */
  readonly now: number;
  /** How many more it takes than were told before; negative when it takes less. */
  readonly places: number;
}

/** A question, or something to be done once. */
export type Call =
  | { readonly ask: "health" }
  | { readonly ask: "close" }
  /** They come with the reply. */
  | { readonly ask: "counts" }
  | { readonly ask: "get"; readonly id: string; readonly receiver: string | undefined }
  | { readonly ask: "list"; readonly query: InboxQuery }
  | { readonly ask: "summary"; readonly query: SummaryQuery }
  | { readonly ask: "oldestWaiting"; readonly receiver: string }
  /** The next of those parked for a reason, with ids after that one. */
  | { readonly ask: "release"; readonly query: ReleaseQuery; readonly after: string }
  | { readonly ask: "discard"; readonly id: string; readonly receiver: string | undefined }
  | { readonly ask: "prune"; readonly now: number };

/** To the thread: everything since the last turn of the event loop. */
export interface Request {
  readonly adds: readonly Alike[];
  readonly bytes: Uint8Array;
  readonly records: readonly Recorded[];
  readonly calls: readonly Call[];
  readonly lanes: readonly LaneState[];
  /** When it was sent, by the sender's monotonic time in milliseconds. */
  readonly sentAt: number;
}

/** Why something was not done, in a form that survives the way between threads. */
export interface Failure {
  readonly code: string;
  readonly failed: string;
}

/** A number: stored under it. */
export type AddResult =
  | number
  | { readonly seq: number; readonly sameSignatureAs: string }
  | { readonly duplicateOf: string }
  | Failure;

/** Whether it was recorded: false when the lease was lost. */
export type RecordResult = boolean | Failure;

/** One step of pruning: how many were deleted, and whether there are more. */
export interface Pruned {
  readonly pruned: number;
  readonly more: boolean;
}

/** One step of a release: how many, and the last of them. */
export interface Released {
  readonly released: number;
  readonly last: string;
}

/** What a call resolves to. */
export type CallResult = { readonly value: unknown } | Failure;

/** A delivery for a lane; without a row it is one that was just added or recorded, and is still in memory. */
export interface Handed {
  readonly lane: number;
  readonly receiver: string;
  readonly seq: number;
  readonly row: Row | null;
  /** How many of the lane's it takes. */
  readonly places: number;
}

/** Counts by kind, of receivers by name. */
export type Numbers = ReadonlyMap<string, readonly number[]>;

/** What a turn did for lanes. */
export interface HandedOut {
  readonly handed: readonly Handed[];
  /** Whose leases they are. */
  readonly owner: number | null;
  /** Of lanes with places left: when the next one comes due; now, while more waits than was handed out. */
  readonly due: readonly { readonly lane: number; readonly at: number | null }[];
  /** Parked, because work on them ended the process too often. */
  readonly poisoned: readonly { readonly receiver: string; readonly row: Row }[];
  /** Another has taken the leases. */
  readonly lost: boolean;
}

/** From the thread, after each commit: results in the order in which they were asked for. */
export interface Reply extends HandedOut {
  readonly adds: readonly AddResult[];
  readonly records: readonly RecordResult[];
  readonly calls: readonly CallResult[];
  /** When they changed. */
  readonly numbers: Numbers | null;
  /** Something began to fail. */
  readonly error: Failure | null;
  /** When the last request was sent that went into it; null when there was none. */
  readonly asOf: number | null;
}

/** From the thread. */
export type FromThread =
  | { readonly opened: Numbers }
  | { readonly unopened: Failure }
  | { readonly reply: Reply };

/** Whether it is one. */
export function isFailure(result: unknown): result is Failure {
  return typeof result === "object" && result !== null && "failed" in result;
}
