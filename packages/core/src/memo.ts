import type { Job } from "./delivery.ts";

/** What is remembered of a delivery between two authorize calls. */
export interface Memo {
  /** A call was made promptly and went unanswered, or none was made because the service was silent. */
  readonly outage?: boolean;
  /** How many answers were 400, 404 or 422. */
  readonly odd?: number;
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
