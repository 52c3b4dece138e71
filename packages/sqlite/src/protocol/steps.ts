import type { ActStep, Pruned } from "@reporthook/core";
import type { SomeOfGroup } from "@reporthook/core/store";

/** The result of one step of pruning. */
export interface PruneStep {
  readonly pruned: Pruned;
  readonly more: boolean;
}

/** The result of one step of an act, with the last id that it looked at; null at the end. */
export interface StepOfAct extends ActStep {
  readonly last: string | null;
  /** The number of the act in the log, once it changed something. */
  readonly number: number | null;
}

/** A position among the deliveries with an error. */
export interface ErrorsPosition {
  readonly receiver: number;
  readonly error: string;
  readonly id: string;
}

/** The result of one step of grouping errors, and the position after it; null at the end. */
export interface StepOfErrors {
  readonly groups: readonly SomeOfGroup[];
  readonly last: ErrorsPosition | null;
}

/** A position among the deliveries that may be erased: the range that is looked at, the last id, and the number in the log. */
export interface ErasePosition {
  readonly range: number;
  readonly id: string;
  readonly number: number | null;
}

/** The result of one step of erasing, and the position after it; null at the end. */
export interface StepOfErase {
  readonly count: number;
  readonly last: ErasePosition | null;
}

/** Leases that were taken over from another process. */
export interface Takeover {
  /** Its number and its host. */
  readonly process: string;
  readonly deliveries: number;
  readonly silentMs: number;
}

/** Texts to keep, by key; null deletes one. */
export type KeptNotes = Readonly<Record<string, string | null>>;
