import type { Recording } from "./completion-recorder.ts";

/** The part of the inbox that a consumer needs. */
export interface ConsumerSource {
  /** Whether this process still holds its leases. */
  holdsLeases(): boolean | Promise<boolean>;
  /** Has a completion recorded, and tells it the result; its delivery may be leased again by then. */
  complete(recording: Recording): void;
  /** Has the state of all consumers sent to the thread. */
  flush(): void;
}
