import { dayMs, type Retention } from "./entry.ts";

/** Options of `memoryInbox`. */
export interface MemoryInboxOptions {
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: { readonly handledMs?: number; readonly parkedMs?: number };
  /** Most bytes of bodies kept at once; when they are used up `add` rejects `overloaded`. 256 MiB. */
  readonly maxBytes?: number;
  /** Says that you know: where an instance may end after the answer (Workers, Lambda), a receiver takes it only so. */
  readonly acceptLoss?: boolean;
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
  const { retention = {}, maxBytes = 268_435_456, acceptLoss = false, ...unknown } = options;
  for (const name of Object.keys(unknown)) {
    const known = "retention, maxBytes, acceptLoss";
    throw new TypeError(`memoryInbox: ${name} is no option; these are: ${known}`);
  }
  if (typeof acceptLoss !== "boolean") {
    throw new TypeError(`memoryInbox: acceptLoss must be true or false, not ${acceptLoss}`);
  }
  return {
    retention: {
      handledMs: positive(retention.handledMs ?? 7 * dayMs, "retention.handledMs"),
      parkedMs: positive(retention.parkedMs ?? 30 * dayMs, "retention.parkedMs"),
    },
    maxBytes: positive(maxBytes, "maxBytes"),
    lossAccepted: acceptLoss,
  };
}

function positive(value: number, option: string): number {
  if (typeof value === "number" && value > 0) return value;
  throw new TypeError(`memoryInbox: ${option} must be a positive number, not ${String(value)}`);
}
