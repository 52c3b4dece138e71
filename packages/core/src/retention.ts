import { dayMs, type Retention } from "./entry.ts";
import { onlyKnown, shown } from "./given.ts";

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
  for (const [name, value] of Object.entries({ handledMs, parkedMs })) {
    if (typeof value === "number" && value > 0) continue;
    const expected = `a positive number of milliseconds, not ${shown(value)}`;
    throw new TypeError(`${whose}: retention.${name} must be ${expected}`);
  }
  return { handledMs, parkedMs };
}
