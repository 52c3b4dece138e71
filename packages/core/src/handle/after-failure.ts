import { DoNotRetry, RetryAfter } from "../errors.ts";
import { type Job, type Parked, park, type Retry, retryIn } from "../inbox/delivery.ts";
import { describe } from "../lib/text/describe.ts";
import { counted } from "../lib/text/in-words.ts";
import { accountOf, shownError } from "../lib/thrown.ts";
import { jitter } from "../lib/time/clock.ts";
import type { RetryOptions } from "../options/receiver-options.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

// A hundred years: no Date can store a later time.
const waitMaxMs = 3_155_760_000_000;

/** Decides whether a delivery is retried or dead after its handlers threw these errors. */
export function afterFailure(
  job: Job,
  failures: readonly unknown[],
  { redact, clock, retry }: Pick<ReceiverSettings, "redact" | "clock" | "retry">,
): Parked | Retry {
  const failure =
    failures.length === 1 ? failures[0] : new AggregateError(failures, "Several handlers failed");
  const text = accountOf(failure, redact);
  const err = shownError(failure, redact);
  const attempts = job.attempts + 1;
  const final = failures.find(DoNotRetry.is);
  if (final !== undefined) {
    return { ...park("dead", "do_not_retry", describe(final, redact), text), err };
  }
  if (attempts >= retry.attempts) {
    const message = `${counted(attempts, "attempt", "attempts")} failed. Last: ${describe(failure, redact)}`;
    return { ...park("dead", "attempts_used_up", message, text), err };
  }
  const when = failures.find(RetryAfter.is)?.when;
  const afterMs = when === undefined ? backoffMs(attempts, retry) : msUntil(when, clock.wallNow());
  return { ...retryIn(afterMs, text, { countsAsAttempt: true }), err };
}

/** Milliseconds until the next attempt, after `attempts` have failed: exponential, less up to a quarter. */
function backoffMs(attempts: number, { minMs, maxMs }: RetryOptions): number {
  return jitter(Math.min(minMs * 2 ** Math.min(attempts - 1, 52), maxMs, waitMaxMs));
}

function msUntil(when: number | Date, now: number): number {
  const ms = typeof when === "number" ? when : when.getTime() - now;
  return Math.min(Math.max(0, ms), waitMaxMs);
}
