import type { Engine } from "./engine.ts";
import type { Meter } from "./meter.ts";
import type { ReceiverQueues } from "./queues.ts";

/** What a consumer needs of its inbox. */
export interface Source {
  readonly meter: Meter;
  readonly leaseMs: number;
  readonly handledMs: number;
  /** Connects if need be. */
  open(): Promise<{ readonly engine: Engine; readonly queues: ReceiverQueues }>;
}
