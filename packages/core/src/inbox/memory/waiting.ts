import { type Backlog, countInBacklog, noBacklog } from "../counts.ts";
import { isParked, isWaiting, type Stage } from "../delivery.ts";
import type { MemoryDelivery } from "./dedupe-window.ts";
import { bytesOf } from "./limits.ts";
import { MemoryQueue } from "./queue.ts";

/** The deliveries of one receiver that wait, by stage, and their numbers. */
interface WaitingOfReceiver {
  readonly queues: Readonly<Record<Stage, MemoryQueue>>;
  readonly backlog: Backlog;
}

/** The queues of all receivers, and the bytes that limits are compared with: of all deliveries, also of those that wait no longer. */
export class WaitingDeliveries {
  bytes = 0;
  parkedBytes = 0;
  readonly #receivers = new Map<string, WaitingOfReceiver>();

  queue(receiver: string, stage: Stage): MemoryQueue {
    return this.#of(receiver).queues[stage];
  }

  backlog(receiver: string): Backlog {
    return this.#of(receiver).backlog;
  }

  /** Takes those that are not due yet from their queues; returns these, and those that are in no queue because they have ended. */
  takeLater(stored: ReadonlySet<MemoryDelivery>): MemoryDelivery[] {
    const ended = [...stored].filter(({ state }) => !isWaiting(state));
    const waiting = [...this.#receivers.values()].flatMap(({ queues: { verify, handle } }) => [
      ...verify.removeLater(stored),
      ...handle.removeLater(stored),
    ]);
    return [...ended, ...waiting];
  }

  /** Adds a delivery to the numbers, or takes it out. */
  count(stored: MemoryDelivery, by: 1 | -1): void {
    countInBacklog(this.#of(stored.receiver).backlog, stored, by);
    const bytes = by * bytesOf(stored);
    this.bytes += bytes;
    if (isParked(stored.state)) this.parkedBytes += bytes;
  }

  #of(receiver: string): WaitingOfReceiver {
    const known = this.#receivers.get(receiver);
    if (known !== undefined) return known;
    const made: WaitingOfReceiver = {
      queues: { verify: new MemoryQueue("verify"), handle: new MemoryQueue("handle") },
      backlog: { ...noBacklog },
    };
    this.#receivers.set(receiver, made);
    return made;
  }
}
