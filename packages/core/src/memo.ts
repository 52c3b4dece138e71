import type { Job } from "./delivery.ts";

/** What is remembered of a delivery between two authorize calls. */
export interface Memo {
  /** A call was made promptly and went unanswered, or none was made because the service was silent. */
  readonly outage?: boolean;
  /** How many answers were 400, 404 or 422. */
  readonly odd?: number;
  /** Once it gave way it goes on to. */
  readonly yields?: boolean;
}

/** What was remembered; nothing at first. */
export function memoOf({ memo }: Pick<Job, "memo">): Memo {
  return memo === null ? {} : (JSON.parse(memo) as Memo);
}
