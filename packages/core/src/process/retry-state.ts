import type { WithoutVerdict } from "../client/authorizer.ts";
import type { Job } from "../inbox/delivery.ts";
import type { Closed } from "./circuit-breaker.ts";

/** What is remembered of a delivery between two authorize calls. */
export interface Memo {
  /** A call was made promptly and went unanswered, or none was made because the service was silent. */
  readonly outage?: boolean;
  /** How many answers concerned this one signature, as far as is known: 400, 401, 403, 404 or 422. */
  readonly odd?: number;
  /** When it was refused first, in milliseconds since the epoch. */
  readonly refusedAt?: number;
}

/** What is known of all. */
interface Known {
  readonly now: number;
  /** Why nobody is asked but probes. */
  readonly closed: Closed | null;
  /** When the service judged a signature last. */
  readonly judgedAt: number;
}

const promptMs = 60_000;

/** Whether another signature was judged since this one was refused first: then it is not the key. */
export function isJudgedSince({ refusedAt }: Memo, judgedAt: number): boolean {
  return refusedAt !== undefined && judgedAt >= refusedAt;
}

/** What is remembered after a call without a verdict, or when none was made. */
export function memoAfter(
  job: Pick<Job, "memo" | "receivedAt">,
  why: WithoutVerdict | "not asked",
  { now, closed, judgedAt }: Known,
): Memo {
  const before = memoOf(job);
  const isSilence =
    why === "silent" || why === "failed" || (why === "not asked" && closed === "silent");
  const isPrompt = now - job.receivedAt.getTime() < promptMs;
  // A refusal of its own is the first, and each after another signature was judged.
  const isOwn = before.refusedAt === undefined || isJudgedSince(before, judgedAt);
  const isOdd = why === "odd" || (why === "refused" && isOwn);
  const refusedAt = before.refusedAt ?? (why === "refused" ? now : undefined);
  return {
    outage: before.outage === true || (isSilence && isPrompt),
    odd: (before.odd ?? 0) + (isOdd ? 1 : 0),
    ...(refusedAt !== undefined && { refusedAt }),
  };
}

/** What was remembered; nothing at first. */
export function memoOf({ memo }: Pick<Job, "memo">): Memo {
  return memo === null ? {} : (JSON.parse(memo) as Memo);
}

/** Whose fault it is that a signature was asked about too late, as a sentence; `refusedAt` is when the key was last refused. */
export function whyExpired(
  job: Pick<Job, "memo" | "receivedAt" | "attempts">,
  refusedAt: number,
): string {
  const why =
    memoOf(job).outage === true
      ? "The service did not answer before the signature was 5 minutes old: its fault"
      : refusedAt > job.receivedAt.getTime()
        ? "Verification was paused meanwhile, because the service refused the API key: check apiKey"
        : job.attempts > 0
          ? "Authorize was answered too late, after attempts that failed"
          : "The signature was older than 5 minutes when authorize was asked";
  return `${why}.`;
}
