import { isWaiting, type Stage } from "../delivery.ts";
import type { Backlog } from "../inbox.ts";
import type { StoredDelivery } from "../stored-delivery.ts";
import { MemoryQueue } from "./queue.ts";

/** The deliveries of one receiver that wait, by stage, and their numbers. */
interface OfReceiver<T extends StoredDelivery> {
  readonly queues: Readonly<Record<Stage, MemoryQueue<T>>>;
  readonly backlog: { -readonly [Name in keyof Backlog]: Backlog[Name] };
}

/** The deliveries that wait, by receiver. */
export class WaitingDeliveries<T extends StoredDelivery> {
  readonly #receivers = new Map<string, OfReceiver<T>>();

  queue(receiver: string, stage: Stage): MemoryQueue<T> {
    return this.#of(receiver).queues[stage];
  }

  backlog(receiver: string): Backlog {
    return { ...this.#of(receiver).backlog };
  }

  /** Takes those that are not due yet from their queues; returns these. */
  takeLater(stored: ReadonlySet<T>): T[] {
    return [...this.#receivers.values()].flatMap(({ queues: { verify, handle } }) => [
      ...verify.removeLater(stored),
      ...handle.removeLater(stored),
    ]);
  }

  /** Adds a delivery to the numbers that limits are compared with, or takes it out. */
  count({ receiver, state, verification, lowPriority }: T, by: 1 | -1): void {
    const { backlog } = this.#of(receiver);
    if (isWaiting(state)) backlog.waiting += by;
    if (state === "received" && !lowPriority) backlog.unverified += by;
    if (state === "verified" && verification === "unsigned") backlog.unsignedWaiting += by;
    if (state === "held" && verification === "unsigned") backlog.unsignedHeld += by;
  }

  #of(receiver: string): OfReceiver<T> {
    const known = this.#receivers.get(receiver);
    if (known !== undefined) return known;
    const made: OfReceiver<T> = {
      queues: { verify: new MemoryQueue("verify"), handle: new MemoryQueue("handle") },
      backlog: { waiting: 0, unverified: 0, unsignedWaiting: 0, unsignedHeld: 0 },
    };
    this.#receivers.set(receiver, made);
    return made;
  }
}
