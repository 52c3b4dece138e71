import { assertKnownKeys, assertOption, assertPositive } from "../../lib/validate.ts";
import { type Retention, type RetentionOptions, retentionOf } from "../retention.ts";

/** Options of `memoryInbox`. */
export interface MemoryInboxOptions {
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Maximum bytes kept at once: bodies, long addresses, long signatures; beyond it `add` rejects `overloaded`. 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Accepts the loss of deliveries: required where an instance may end after the answer (Workers, Lambda). */
  readonly acceptLoss?: boolean | undefined;
}

/**
 * Checks the options of `memoryInbox`, and fills in the defaults.
 *
 * @throws TypeError for a wrong or unknown option
 */
export function checkedOptions(options: MemoryInboxOptions): {
  readonly retention: Retention;
  readonly maxBytes: number;
  readonly acceptLoss: boolean;
} {
  assertKnownKeys("memoryInbox", options, ["retention", "maxBytes", "acceptLoss"]);
  const { retention, maxBytes = 268_435_456, acceptLoss = false } = options;
  const isSaid = typeof acceptLoss === "boolean";
  assertOption("memoryInbox: acceptLoss", "true or false", acceptLoss, isSaid);
  assertPositive("memoryInbox: maxBytes", "", maxBytes);
  return { retention: retentionOf("memoryInbox", retention), maxBytes, acceptLoss };
}
