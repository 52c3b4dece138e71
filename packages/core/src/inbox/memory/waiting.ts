import { backlogShareOf, noBacklog, sumOfBacklogs } from "../backlog.ts";
import type { Backlog } from "../inbox.ts";
import type { StoredDelivery } from "../stored-delivery.ts";
import { bytesOf } from "./limits.ts";
import { MemoryQueue } from "./queue.ts";

/** The deliveries of one receiver that wait, and their numbers. */
interface OfReceiver<T extends StoredDelivery> {
  readonly verify: MemoryQueue<T>;
  readonly handle: MemoryQueue<T>;
  load: Backlog;
}

/** The queues of all receivers, and the numbers that limits are compared with. */
export class WaitingDeliveries<T extends StoredDelivery> {
  /** The bytes of all deliveries. */
  bytes = 0;
  readonly #receivers = new Map<string, OfReceiver<T>>();

  of(receiver: string): OfReceiver<T> {
    let waiting = this.#receivers.get(receiver);
    if (waiting === undefined) {
      const [verify, handle] = [new MemoryQueue<T>("verify"), new MemoryQueue<T>("handle")];
      waiting = { verify, handle, load: noBacklog };
      this.#receivers.set(receiver, waiting);
    }
    return waiting;
  }

  /** Adds a delivery to the numbers, or takes it out. */
  count(stored: T, by: 1 | -1): void {
    const waiting = this.of(stored.receiver);
    waiting.load = sumOfBacklogs(waiting.load, backlogShareOf(stored), by);
    this.bytes += by * bytesOf(stored);
  }
}
