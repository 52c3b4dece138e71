import { type Added, type ErrorCode, ReporthookError } from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";
import type { AddResult, Failure, Handed } from "./protocol.ts";
import { keptOf } from "./row.ts";

/** What became of a delivery that did not fail. */
export type Stored = Exclude<AddResult, Failure>;

/** One that was leased. */
export interface Leased {
  readonly seq: number;
  readonly owner: number;
  readonly kept: Kept;
}

/** What the thread leased to a lane. */
export interface LeasedToLane extends Leased {
  readonly lane: number;
  /** How many of the lane's it takes. */
  readonly places: number;
}

/** Under which number (0: none), and with which earlier one's signature. */
export function storedUnder(result: Stored): [number, string | null] {
  if (typeof result === "number") return [result, null];
  return "seq" in result ? [result.seq, result.sameSignatureAs] : [0, null];
}

/** What is told of it. */
export function addedOf(id: string, result: Stored): Added {
  if (typeof result === "number") return { status: "added", id };
  if ("duplicateOf" in result) return { status: "duplicate", id: result.duplicateOf };
  return { status: "added", id, sameSignatureAs: result.sameSignatureAs };
}

/** One that was leased, with what is in memory of it or was read. */
export function leasedOf(
  { lane, seq, row, receiver, places }: Handed,
  owner: number,
  inMemory: ReadonlyMap<number, Kept>,
): LeasedToLane {
  const kept = row === null ? inMemory.get(seq) : keptOf(row, receiver);
  if (kept === undefined) throw new Error(`The thread leased ${seq}, which is not in memory`);
  return { lane, seq, owner, kept, places };
}

/** The error that a failure in the thread stands for. */
export function errorOf({ code, failed }: Failure): ReporthookError {
  return new ReporthookError(code as ErrorCode, failed);
}
