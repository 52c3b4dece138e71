import { isWaiting } from "../delivery.ts";
import type { Backlog } from "../inbox.ts";
import type { StoredDelivery } from "../stored-delivery.ts";
import { bytesOf } from "./limits.ts";
import { MemoryQueue } from "./queue.ts";

/** The deliveries of one receiver that wait, and their numbers. */
interface OfReceiver<T extends StoredDelivery> {
  readonly verify: MemoryQueue<T>;
  readonly handle: MemoryQueue<T>;
  readonly load: { -readonly [Name in keyof Backlog]: Backlog[Name] };
}

/** The queues of all receivers, and the numbers that limits are compared with. */
export class WaitingDeliveries<T extends StoredDelivery> {
  /** The bytes of all deliveries. */
  bytes = 0;
  readonly #receivers = new Map<string, OfReceiver<T>>();

  of(receiver: string): OfReceiver<T> {
    let waiting = this.#receivers.get(receiver);
    if (waiting === undefined) {
      const load = { waiting: 0, unverified: 0, unsignedWaiting: 0, unsignedHeld: 0 };
      waiting = { verify: new MemoryQueue("verify"), handle: new MemoryQueue("handle"), load };
      this.#receivers.set(receiver, waiting);
    }
    return waiting;
  }

  /** Adds a delivery to the numbers, or takes it out. */
  count(stored: T, by: 1 | -1): void {
    const { receiver, state, verification, lowPriority } = stored;
    const { load } = this.of(receiver);
    this.bytes += by * bytesOf(stored);
    if (isWaiting(state)) load.waiting += by;
    if (state === "received" && !lowPriority) load.unverified += by;
    if (state === "verified" && verification === "unsigned") load.unsignedWaiting += by;
    if (state === "held" && verification === "unsigned") load.unsignedHeld += by;
  }
}
