import { DoNotRetry, RetryAfter } from "../errors.ts";
import { type Job, type Outcome, park, retryIn } from "../inbox/delivery.ts";
import { describe } from "../lib/describe.ts";
import { accountOf } from "../lib/thrown.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { handlerBackoffMs } from "../verify/backoff.ts";

// A hundred years: no Date can store a later time.
const waitMaxMs = 3_155_760_000_000;

/**
 * Decides whether a delivery is retried or dead after its handlers failed. `failures` are all thrown errors, `failure` is the one
 * to report.
 */
export function afterFailure(
  job: Job,
  failures: readonly unknown[],
  failure: unknown,
  { redact, clock, retry }: Pick<ReceiverSettings, "redact" | "clock" | "retry">,
): Outcome {
  const text = accountOf(failure, redact);
  const attempts = job.attempts + 1;
  const final = failures.find(DoNotRetry.is);
  if (final !== undefined) return park("dead", "do_not_retry", describe(final, redact), text);
  if (attempts >= retry.attempts) {
    const message = `${attempts} attempts failed. Last: ${describe(failure, redact)}`;
    return park("dead", "attempts_used_up", message, text);
  }
  const when = failures.find(RetryAfter.is)?.when;
  const afterMs =
    when === undefined ? handlerBackoffMs(attempts, retry) : msUntil(when, clock.wallNow());
  return retryIn(afterMs, text, { countsAsAttempt: true });
}

function msUntil(when: number | Date, now: number): number {
  const ms = typeof when === "number" ? when : when.getTime() - now;
  return Math.min(Math.max(0, ms), waitMaxMs);
}
