/** An act of a person: entries run again, waiting ones are due now, or parked ones are deleted. */
export type Act = "release" | "retry" | "discard";

/** An act on a delivery that is still there, in its history. */
export interface ActRecord {
  readonly at: Date;
  readonly act: Exclude<Act, "discard"> | "erase";
  /** The person, as the option `by` names one; else null. */
  readonly by: string | null;
}
