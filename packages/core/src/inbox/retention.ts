import { assertKnownKeys, assertPositive } from "../lib/validate.ts";
import { isWaiting } from "./delivery.ts";
import type { StoredDelivery } from "./stored-delivery.ts";

/** The option `retention` of every inbox: how long entries are kept, in milliseconds. */
export interface RetentionOptions {
  /** Handled ones: 7 days. */
  readonly handledMs?: number | undefined;
  /** Held and dead ones: 30 days. */
  readonly parkedMs?: number | undefined;
}

/**
 * Checks the option `retention` of the inbox `whose`, and fills in the defaults.
 *
 * @throws TypeError that names what is wrong or unknown
 */
export function retentionOf(whose: string, given: RetentionOptions = {}): Retention {
  assertKnownKeys(whose, given, ["handledMs", "parkedMs"], "retention.");
  const { handledMs = 7 * dayMs, parkedMs = 30 * dayMs } = given;
  assertPositive(`${whose}: retention.handledMs`, " of milliseconds", handledMs);
  assertPositive(`${whose}: retention.parkedMs`, " of milliseconds", parkedMs);
  return { handledMs, parkedMs };
}

/** Whether a delivery came without a signature, and was not released. */
export function isUnsigned({
  verification,
  released,
}: Pick<StoredDelivery, "verification" | "released">): boolean {
  return verification === "unsigned" && !released;
}

/** How long handled and parked deliveries are kept, in milliseconds. */
export interface Retention {
  readonly handledMs: number;
  readonly parkedMs: number;
}

/** Whether a delivery is kept no longer. */
export function isOver(
  stored: StoredDelivery,
  { handledMs, parkedMs }: Retention,
  now: number,
): boolean {
  const { state, changedAt } = stored;
  if (isWaiting(state)) return false;
  const short = state === "rejected" || isUnsigned(stored);
  return now - changedAt > (short ? dayMs : state === "handled" ? handledMs : parkedMs);
}

/** A day in milliseconds. */
export const dayMs = 86_400_000;
