import { type AddResult, type ErrorCode, ReporthookError } from "@reporthook/core";
import { isFailure, type StoredResult, type ThreadFailure } from "./protocol.ts";

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

/** The result of what succeeded; throws the error of a failure. */
export function unlessFailed<Result>(result: Result): Exclude<Result, ThreadFailure> {
  if (isFailure(result)) throw errorOfFailure(result);
  return result as Exclude<Result, ThreadFailure>;
}

/** The error of a failure. */
export function errorOfFailure({ code, failed }: ThreadFailure): ReporthookError {
  return new ReporthookError(code as ErrorCode, failed);
}
