import type { ReporthookError } from "@reporthook/core";
import type { ReceiverCounts } from "../protocol/counts.ts";
import type { Claims, ConsumerState } from "../protocol/protocol.ts";
import type { Leased } from "../protocol/results.ts";

/** Receives events that answer no request. */
export interface ThreadListener {
  /** Returns the state of each consumer, for the next request. */
  consumerStates(): readonly ConsumerState[];
  counted(counts: ReceiverCounts): void;
  leased(consumer: number, leased: Leased, cost: number): void;
  /** The leases are lost. */
  leasesLost(): void;
  /** `asOf` is the time of the last request that the thread has processed. */
  claimed(rest: Pick<Claims, "due" | "poisoned">, asOf: number | null): void;
  failed(error: ReporthookError): void;
  /** The thread has ended; `error` if that was unexpected. */
  ended(error: ReporthookError | null): void;
}
