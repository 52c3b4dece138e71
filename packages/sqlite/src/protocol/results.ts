import { type Added, type ErrorCode, ReporthookError } from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";
import type { AddResult, Claimed, Failure } from "./protocol.ts";
import { keptOf } from "./row.ts";

/** A delivery in memory that is leased to a consumer of this process. */
export interface Leased {
  readonly seq: number;
  readonly workerId: number;
  readonly kept: Kept;
}

/** The number under which a delivery was stored; null when it was not. */
export function seqOf(result: AddResult): number | null {
  if (typeof result === "number") return result;
  return "seq" in result ? result.seq : null;
}

/** The answer to an add that did not fail. */
export function addedOf(id: string, result: Exclude<AddResult, Failure>): Added {
  if (typeof result === "number") return { status: "added", id };
  if ("duplicateOf" in result) return { status: "duplicate", id: result.duplicateOf };
  return { status: "added", id, sameSignatureAs: result.sameSignatureAs };
}

/** A claimed delivery, from its row or from memory. */
export function leasedOf(
  { seq, row, receiver }: Claimed,
  workerId: number,
  inMemory: ReadonlyMap<number, Kept>,
): Leased {
  const kept = row === null ? inMemory.get(seq) : keptOf(row, receiver);
  if (kept === undefined) throw new Error(`The thread leased ${seq}, which is not in memory`);
  return { seq, workerId, kept };
}

/** The error of a failure. */
export function errorOf({ code, failed }: Failure): ReporthookError {
  return new ReporthookError(code as ErrorCode, failed);
}
