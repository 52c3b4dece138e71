import type { ReporthookError } from "@reporthook/core";
import type { ReceiverCounts } from "../protocol/counts.ts";
import type { Claims, ConsumerState } from "../protocol/protocol.ts";
import type { Leased } from "../protocol/results.ts";

/** Is told what nobody asked for. */
export interface ThreadListener {
  /** Returns the state of each consumer, for the next request. */
  consumerStates(): readonly ConsumerState[];
  counted(counts: ReceiverCounts): void;
  leased(consumer: number, leased: Leased, cost: number): void;
  /** The leases that were held are gone. */
  leasesLost(): void;
  /** `asOf` is when the request was sent whose consumers the thread knew. */
  claimed(rest: Pick<Claims, "due" | "poisoned">, asOf: number | null): void;
  failed(error: ReporthookError): void;
  /** The thread has ended, for whatever reason; `error` when nobody asked it to. */
  ended(error: ReporthookError | null): void;
}
