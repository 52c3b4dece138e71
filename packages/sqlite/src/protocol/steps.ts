import type { InboxNotice, Pruned } from "@reporthook/core";

/** The result of one step of pruning. */
export interface PruneStep {
  readonly pruned: Pruned;
  readonly more: boolean;
}

/** The result of one step of a call that takes several, and where the next one begins; null at the end. */
export type CallStep<Result, Position> = Result & { readonly next: Position | null };

/** A position among the deliveries that an act may concern: the last id, and the number of the act in the log. */
export interface ActPosition {
  readonly id: string;
  /** Null until it has changed something. */
  readonly number: number | null;
}

/** A position among the deliveries with an error. */
export interface ErrorsPosition {
  readonly receiver: number;
  readonly error: string;
  readonly id: string;
}

/** A position among the deliveries that may be erased: the range that is looked at, the last id, and the number in the log. */
export interface ErasePosition extends ActPosition {
  readonly range: number;
}

/** Leases that were taken over from another process. */
export type Takeover = Omit<Extract<InboxNotice, { readonly what: "took_over" }>, "what">;

/** Texts to keep, by key; null deletes one. */
export type KeptNotes = Readonly<Record<string, string | null>>;
