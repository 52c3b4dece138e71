import { type AddResult, type ErrorCode, ReporthookError } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import { type Claimed, isFailure, type StoredResult, type ThreadFailure } from "./protocol.ts";

/** A delivery in memory that is leased to a consumer of this process. */
export interface Leased {
  readonly seq: number;
  readonly workerId: number;
  readonly kept: StoredDelivery;
  /** Whether no process has ended since work on it began for the first time. */
  readonly isFirstStart: boolean;
}

type Stored = Exclude<StoredResult, ThreadFailure>;

/** The number under which a delivery was stored; null when it was not. */
export function seqOf(result: StoredResult): number | null {
  if (typeof result === "number") return result;
  return "seq" in result ? result.seq : null;
}

/** The answer to an add that did not fail. */
export function addResultOf(id: string, result: Stored): AddResult {
  if (typeof result === "number") return { status: "added", id };
  if ("duplicateOf" in result) return { status: "duplicate", id: result.duplicateOf };
  return { status: "added", id, sameSignatureAs: result.sameSignatureAs };
}

/** A claimed delivery, as it came or from memory. */
export function leasedOf(
  { seq, isFirstStart, kept }: Claimed,
  workerId: number,
  inMemory: ReadonlyMap<number, StoredDelivery>,
): Leased {
  const delivery = kept ?? inMemory.get(seq);
  if (delivery === undefined) throw new Error(`The thread leased ${seq}, which is not in memory`);
  return { seq, workerId, kept: delivery, isFirstStart };
}

/** The result of what succeeded; throws the error of a failure. */
export function unlessFailed<Result>(result: Result): Exclude<Result, ThreadFailure> {
  if (isFailure(result)) throw errorOfFailure(result);
  return result as Exclude<Result, ThreadFailure>;
}

/** The error of a failure. */
export function errorOfFailure({ code, failed }: ThreadFailure): ReporthookError {
  return new ReporthookError(code as ErrorCode, failed);
}
