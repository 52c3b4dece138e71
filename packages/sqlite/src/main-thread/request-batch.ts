import type { NewDelivery } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import { AddBatches } from "../protocol/add-batches.ts";
import type { Completion, ConsumerState, Request, ThreadCall } from "../protocol/protocol.ts";

/** Everything requested in one tick, until it is sent. */
export class RequestBatch {
  readonly #additions = new AddBatches();
  readonly #completions: Completion[] = [];
  readonly #calls: ThreadCall[] = [];

  /** The number of deliveries in the batch. */
  get deliveries(): number {
    return this.#additions.count;
  }

  /** Adds a delivery; `begins` is its first state if that is not received. */
  add(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): void {
    this.#additions.add(delivery, kind, begins);
  }

  complete(completion: Completion): void {
    this.#completions.push(completion);
  }

  /** Adds a call. Throws if it can't cross to the thread, so that it does not block the others. */
  call(call: ThreadCall): void {
    this.#calls.push(structuredClone(call));
  }

  /** The batch as one message with transferable bytes. */
  encode(
    consumers: readonly ConsumerState[],
  ): Request & { readonly bytes: Uint8Array<ArrayBuffer> } {
    const { adds, bytes } = this.#additions.encode();
    // Written out, like a reply: an object made of spreads takes longer to serialize for the other thread.
    return {
      adds,
      bytes,
      completions: this.#completions,
      calls: this.#calls,
      consumers,
      sentAt: performance.now(),
    };
  }
}
