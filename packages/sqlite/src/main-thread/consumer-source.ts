import type { StoredDelivery } from "@reporthook/core/store";
import type { Completion, CompletionResult } from "../protocol/protocol.ts";

/** The part of the inbox that a consumer needs. */
export interface ConsumerSource {
  /** Whether this process still holds its leases. */
  holdsLeases(): boolean | Promise<boolean>;
  /** Resolves to whether it was recorded; `kept` may be leased again by then. */
  complete(completion: Completion, kept: StoredDelivery): Promise<CompletionResult>;
  /** Has the state of all consumers sent to the thread. */
  flush(): void;
}
