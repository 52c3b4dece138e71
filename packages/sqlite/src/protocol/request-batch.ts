import type { KeptHeaders, NewDelivery } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import type { AddBatch, Completion, ConsumerState, Request, ThreadCall } from "./protocol.ts";
import { changesOf, headersText } from "./row.ts";

/** The parts that differ between the deliveries of an {@link AddBatch}. */
export interface Addition {
  readonly id: string;
  readonly arrivedAt: number;
  readonly ackMs: number;
  readonly signature: string | null;
  readonly body: Uint8Array;
  readonly key: Uint8Array | null;
}

let lastHeaders: KeptHeaders | undefined;
let lastText = "";

/** Everything requested in one tick, until it is sent. */
export class RequestBatch {
  readonly #adds: AddBatch[] = [];
  readonly #parts: Uint8Array[] = [];
  readonly #completions: Completion[] = [];
  readonly #calls: ThreadCall[] = [];
  #bytes = 0;
  #deliveries = 0;

  get deliveries(): number {
    return this.#deliveries;
  }

  /** Adds a delivery; `begins` is its first state if that is not received. */
  add(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): void {
    const { arrivedAt, body, key } = delivery;
    const batch = this.#batchFor(delivery, kind, begins);
    batch.ids.push(delivery.id);
    batch.arrivedAt.push(arrivedAt);
    batch.ackMs.push(delivery.ackMs);
    batch.signatures.push(delivery.signature);
    batch.bodyBytes.push(body.byteLength);
    batch.keyBytes.push(key?.byteLength ?? 0);
    this.#parts.push(body);
    if (key !== null) this.#parts.push(key);
    this.#bytes += body.byteLength + (key?.byteLength ?? 0);
    this.#deliveries++;
  }

  complete(completion: Completion): void {
    this.#completions.push(completion);
  }

  /** Adds a call. Throws if it can't cross to the thread, so that it does not block the others. */
  call(call: ThreadCall): void {
    this.#calls.push(structuredClone(call));
  }

  /**
   * The batch as one message, whose bytes can be transferred.
   *
   * @throws Error when a body is not as long as it was: the places of all that follow would be wrong
   */
  encode(
    consumers: readonly ConsumerState[],
  ): Request & { readonly bytes: Uint8Array<ArrayBuffer> } {
    const bytes = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.byteLength;
    }
    if (at !== this.#bytes)
      throw new Error("A body changed its length while it waited to be stored");
    // Written out, here and elsewhere: an object made of spreads takes longer to serialize for the other thread.
    return {
      adds: this.#adds,
      bytes,
      completions: this.#completions,
      calls: this.#calls,
      consumers,
      sentAt: performance.now(),
    };
  }

  /** The last batch of additions, if the delivery shares its properties; else a new one. */
  #batchFor(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): AddBatch {
    const { receiver, url, context, arrivedAt } = delivery;
    const headers = commonText(delivery.headers);
    const last = this.#adds.at(-1);
    const fits =
      begins === null &&
      last?.changes === null &&
      last.kind === kind &&
      last.headers === headers &&
      last.url === url &&
      last.receiver === receiver &&
      last.context === context;
    if (fits) return last;
    const batch: AddBatch = {
      receiver,
      url,
      headers,
      context,
      kind,
      changes: begins === null ? null : changesOf(begins, arrivedAt),
      ids: [],
      arrivedAt: [],
      ackMs: [],
      signatures: [],
      bodyBytes: [],
      keyBytes: [],
    };
    this.#adds.push(batch);
    return batch;
  }
}

/** Calls `take` with each addition of a request, in order. */
export function eachAddition(
  { adds, bytes }: Request,
  take: (batch: AddBatch, addition: Addition) => void,
): void {
  let from = 0;
  for (const batch of adds) {
    for (let index = 0; index < batch.ids.length; index++) {
      const keyFrom = from + (batch.bodyBytes[index] ?? 0);
      const to = keyFrom + (batch.keyBytes[index] ?? 0);
      take(batch, {
        id: batch.ids[index] ?? "",
        arrivedAt: batch.arrivedAt[index] ?? 0,
        ackMs: batch.ackMs[index] ?? 0,
        signature: batch.signatures[index] ?? null,
        body: bytes.subarray(from, keyFrom),
        key: keyFrom === to ? null : bytes.subarray(keyFrom, to),
      });
      from = to;
    }
  }
}

/** The text of headers: most deliveries have the same headers, as the same object. */
function commonText(headers: KeptHeaders): string {
  if (headers !== lastHeaders) {
    lastHeaders = headers;
    lastText = headersText(headers);
  }
  return lastText;
}
