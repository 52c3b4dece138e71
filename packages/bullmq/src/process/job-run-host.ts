import type { ConsumeOptions, Processor } from "@reporthook/core";
import type { Notices, ShownChanges } from "@reporthook/core/store";
import type { ReceiverQueues } from "../queues/queues.ts";
import type { Connection } from "../server/connection.ts";
import type { BacklogMeter } from "./backlog.ts";
import type { Locks } from "./locks.ts";
import type { Sleep } from "./sleep.ts";

/** The parts of an inbox that a consumer needs. */
export interface ConsumerParts {
  readonly meter: BacklogMeter;
  readonly notices: Notices;
  readonly leaseMs: number;
  readonly shown: ShownChanges;
  /** Resolves once the inbox is not being closed. */
  closed(): Promise<unknown>;
  /** Connects if needed. */
  open(): Promise<{ readonly connection: Connection; readonly queues: ReceiverQueues }>;
}

/** The consumer that a run belongs to. */
export interface JobRunHost {
  readonly parts: ConsumerParts;
  readonly processor: Processor;
  readonly options: ConsumeOptions;
  readonly locks: Locks;
  readonly sleep: Sleep;
  readonly stopped: boolean;
  readonly isAborted: boolean;
  failed(error: unknown): void;
}
