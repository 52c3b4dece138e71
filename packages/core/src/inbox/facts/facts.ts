import type { ReasonCounts } from "../counts.ts";
import type { ReasonCode, State } from "../delivery.ts";

/** The state of one receiver's deliveries, from which its problems follow. Times are lived times in milliseconds, or null. */
export interface Facts {
  readonly counts: Readonly<Record<State, number>>;
  /** When the newest was received, by the time in its id; an inbox may tell it still when that one is deleted. */
  readonly newest: number | null;
  /** When the oldest arrived that waits for its verdict. */
  readonly oldestUnverified: number | null;
  /** When the oldest arrived that is neither handled nor parked. */
  readonly oldestWaiting: number | null;
  /** The parked ones by reason, without zeros: their number, and when the first of them was parked. */
  readonly parked: readonly ParkedFact[];
  /** How many parked ones were ever deleted, by reason: by a person, by retention, or to make room. */
  readonly deleted: ReasonCounts;
  /** The parked ones whose end was announced, at most 10,000: since when, and when the first is deleted at the earliest. */
  readonly expiring: ExpiringFact | null;
  /** The number that wait for another attempt because a handler failed, and the most frequent error of some of them. */
  readonly failing: { readonly count: number; readonly error: string | null } | null;
}

/** The deliveries that will be deleted. */
export interface ExpiringFact {
  readonly count: number;
  readonly since: number;
  readonly deletedFrom: number;
}

/** The deliveries that are parked for one reason. */
export interface ParkedFact {
  readonly reason: ReasonCode;
  readonly count: number;
  readonly since: number;
}

/** The numbers of an inbox. */
export interface Summary {
  /** The number of parked entries by reason, without zeros. */
  readonly parked: Readonly<Partial<Record<ReasonCode, number>>>;
  /** The newest `changedAt` of a parked entry, or null. */
  readonly parkedChangedAt: Date | null;
  /** The time of receipt of the oldest entry in each state, or null; that of `handled` only where it is at hand. */
  readonly oldest: Readonly<Record<State, Date | null>>;
  /** The minutes in which something was received, oldest first. */
  readonly minutes: readonly Minute[];
}

/** The notifications received in one minute. */
export interface Minute {
  /** The beginning of the minute. */
  readonly at: Date;
  /** Their number by current state. */
  readonly counts: Readonly<Record<State, number>>;
}

/** Texts that are kept with an inbox, by key. */
export type Notes = Readonly<Record<string, string>>;
