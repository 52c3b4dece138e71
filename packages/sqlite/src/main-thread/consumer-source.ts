import type { Recording } from "./completion-recorder.ts";

/** The part of the inbox that a consumer needs. */
export interface ConsumerSource {
  /** Whether this process still holds its leases. */
  holdsLeases(): boolean | Promise<boolean>;
  /** Records a completion and resolves it with the result; its delivery may be leased again by then. */
  complete(recording: Recording): void;
  /** Sends the state of all consumers to the thread. */
  flush(): void;
}
