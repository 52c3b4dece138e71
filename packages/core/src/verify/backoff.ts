import { signatureLifetimeMs } from "../inbox/delivery.ts";
import type { RetryOptions } from "../options/receiver-options.ts";

/** Milliseconds until a handler's next attempt, after `attempts` have failed: exponential, less up to a quarter. */
export function handlerBackoffMs(attempts: number, { minMs, maxMs }: RetryOptions): number {
  return jitter(Math.min(minMs * 2 ** Math.min(attempts - 1, 52), maxMs));
}

/**
 * Milliseconds until the next authorize call, after `attempts` calls for a delivery that is `age` milliseconds old: 1 s doubling
 * to 10 s while its signature may be valid, then to 5 minutes.
 */
export function authorizeBackoffMs(attempts: number, age: number, retryAfterMs: number): number {
  const young = age < signatureLifetimeMs;
  const delay = young
    ? Math.min(1_000 * 2 ** (attempts - 1), 10_000)
    : Math.min(Math.max(age - signatureLifetimeMs, 10_000), 300_000);
  return Math.max(jitter(delay), Math.min(retryAfterMs, young ? 60_000 : 300_000));
}

/** Subtracts up to a quarter at random, so that attempts that failed together are not repeated together. */
export function jitter(ms: number): number {
  return Math.round(ms * (1 - Math.random() / 4));
}
