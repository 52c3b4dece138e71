import type { ReasonCode, State } from "./delivery.ts";

/** The span of time of a summary. */
export interface SummaryQuery {
  readonly receiver?: string | undefined;
  readonly from: Date;
  readonly until: Date;
}

/** The numbers of an inbox. */
export interface Summary {
  /** The number of parked entries by reason, without zeros. */
  readonly parked: Readonly<Partial<Record<ReasonCode, number>>>;
  /** The newest `changedAt` of a parked entry, or null. */
  readonly parkedChangedAt: Date | null;
  /** The time of receipt of the oldest entry in each state, or null. */
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
