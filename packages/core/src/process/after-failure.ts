import { DoNotRetry, RetryAfter } from "../errors.ts";
import { again, type Job, leave, type Outcome } from "../inbox/delivery.ts";
import { describe } from "../lib/describe.ts";
import { account } from "../lib/thrown.ts";
import type { Settings } from "../options/settings.ts";
import { handlerDelay } from "./backoff.ts";

// A hundred years: no Date can store a later time.
const waitMaxMs = 3_155_760_000_000;

/**
 * Decides what becomes of a delivery whose handlers failed: it is retried, or dead. `failures` are all that was thrown,
 * `failure` is what is told of it.
 */
export function afterFailure(
  job: Job,
  failures: readonly unknown[],
  failure: unknown,
  { clean, clock, retry }: Pick<Settings, "clean" | "clock" | "retry">,
): Outcome {
  const text = account(failure, clean);
  const attempts = job.attempts + 1;
  const final = failures.find(DoNotRetry.is);
  if (final !== undefined) return leave("dead", "do_not_retry", describe(final, clean), text);
  if (attempts >= retry.attempts) {
    const message = `${attempts} attempts failed. Last: ${describe(failure, clean)}`;
    return leave("dead", "attempts_used_up", message, text);
  }
  const when = failures.find(RetryAfter.is)?.when;
  const afterMs = when === undefined ? handlerDelay(attempts, retry) : msUntil(when, clock.now());
  return again(afterMs, text, { counts: true });
}

function msUntil(when: number | Date, now: number): number {
  const ms = typeof when === "number" ? when : when.getTime() - now;
  return Math.min(Math.max(0, ms), waitMaxMs);
}
