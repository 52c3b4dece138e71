import type { NewDelivery } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import { AddBatches } from "../protocol/add-batches.ts";
import type { Completion, ConsumerState, Request, ThreadCall } from "../protocol/protocol.ts";

/** Everything that is asked for in one turn of the event loop, until it is sent. */
export class RequestBatch {
  readonly #additions = new AddBatches();
  readonly #completions: Completion[] = [];
  readonly #calls: ThreadCall[] = [];

  /** How many deliveries are in it. */
  get deliveries(): number {
    return this.#additions.count;
  }

  /** Adds a delivery; `begins` is how it begins, when not as received. */
  add(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): void {
    this.#additions.add(delivery, kind, begins);
  }

  complete(completion: Completion): void {
    this.#completions.push(completion);
  }

  /** Throws for a call that can't cross to the thread, so that it keeps back nothing else. */
  call(call: ThreadCall): void {
    this.#calls.push(structuredClone(call));
  }

  /** All of it as one message, whose bytes can be handed over. */
  encode(
    consumers: readonly ConsumerState[],
  ): Request & { readonly bytes: Uint8Array<ArrayBuffer> } {
    const { adds, bytes } = this.#additions.encode();
    // Written out, as a reply is: what is made of spreads takes longer to be read off for the other thread.
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
