import type { Retention } from "./entry.ts";
import { onlyKnown, shown } from "./given.ts";
import { type RetentionOptions, retentionOf } from "./retention.ts";

/** Options of `memoryInbox`. */
export interface MemoryInboxOptions {
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Most bytes of bodies kept at once; when they are used up `add` rejects `overloaded`. 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Says that you know: where an instance may end after the answer (Workers, Lambda), a receiver takes it only so. */
  readonly acceptLoss?: boolean | undefined;
}

/** What they come to. */
export interface MemorySettings {
  readonly retention: Retention;
  readonly maxBytes: number;
  readonly lossAccepted: boolean;
}

/**
 * The options with their defaults.
 *
 * @throws TypeError that names a wrong or unknown one
 */
export function memorySettingsOf(options: MemoryInboxOptions): MemorySettings {
  onlyKnown("memoryInbox", options, ["retention", "maxBytes", "acceptLoss"]);
  const { retention, maxBytes = 268_435_456, acceptLoss = false } = options;
  if (typeof acceptLoss !== "boolean") {
    throw new TypeError(`memoryInbox: acceptLoss must be true or false, not ${shown(acceptLoss)}`);
  }
  return {
    retention: retentionOf("memoryInbox", retention),
    maxBytes: positive(maxBytes, "maxBytes"),
    lossAccepted: acceptLoss,
  };
}

function positive(value: number, option: string): number {
  if (typeof value === "number" && value > 0) return value;
  throw new TypeError(`memoryInbox: ${option} must be a positive number, not ${shown(value)}`);
}
