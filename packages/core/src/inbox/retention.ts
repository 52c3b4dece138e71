import { checkPositive, onlyKnown } from "../lib/validate.ts";
import { dayMs, type Retention } from "./stored-delivery.ts";

/** The option `retention` of every inbox: how long entries are kept, in milliseconds. */
export interface RetentionOptions {
  /** Handled ones: 7 days. */
  readonly handledMs?: number | undefined;
  /** Held and dead ones: 30 days. */
  readonly parkedMs?: number | undefined;
}

/**
 * That option of the inbox `whose`, with its defaults.
 *
 * @throws TypeError that names what is wrong or unknown
 */
export function retentionOf(whose: string, given: RetentionOptions = {}): Retention {
  onlyKnown(whose, given, ["handledMs", "parkedMs"], "retention.");
  const { handledMs = 7 * dayMs, parkedMs = 30 * dayMs } = given;
  checkPositive(`${whose}: retention.handledMs`, " of milliseconds", handledMs);
  checkPositive(`${whose}: retention.parkedMs`, " of milliseconds", parkedMs);
  return { handledMs, parkedMs };
}
