import { type Backlog, countInBacklog, noBacklog } from "../counts.ts";
import { isWaiting, type Stage } from "../delivery.ts";
import type { MemoryDelivery } from "./dedupe-window.ts";
import { MemoryQueue } from "./queue.ts";

/** The deliveries of one receiver that wait, by stage, and its backlog. */
interface WaitingOfReceiver {
  readonly queues: Readonly<Record<Stage, MemoryQueue>>;
  readonly backlog: Backlog;
}

/** The queues of all receivers, and the numbers of deliveries in them. */
export class WaitingDeliveries {
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

  /** Adds a delivery to the backlog of its receiver, or takes it out. */
  count(stored: MemoryDelivery, by: 1 | -1): void {
    countInBacklog(this.#of(stored.receiver).backlog, stored, by);
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
