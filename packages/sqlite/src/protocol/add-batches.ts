import type { KeptHeaders, NewDelivery } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import type { AddBatch, Request } from "./protocol.ts";
import { type Changes, changesOf, headersText } from "./row.ts";

/** The parts that differ between the deliveries of a batch. */
export interface Addition {
  readonly id: string;
  readonly receivedAt: number;
  readonly ackMs: number;
  readonly signature: string | null;
  readonly body: Uint8Array;
  readonly key: Uint8Array | null;
}

/** A batch that still takes deliveries. */
interface OpenBatch extends AddBatch {
  readonly ids: string[];
  readonly receivedAt: number[];
  readonly ackMs: number[];
  readonly signatures: (string | null)[];
  readonly bodyBytes: number[];
  readonly keyBytes: number[];
}

let lastHeaders: KeptHeaders | undefined;
let lastText = "";

/** Deliveries to be stored, until they are sent. */
export class AddBatches {
  readonly #batches: OpenBatch[] = [];
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Adds a delivery; `begins` is its first state if that is not received. */
  add(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): void {
    const { receivedAt, body, key } = delivery;
    const headers = commonText(delivery.headers);
    let last = this.#batches.at(-1);
    if (begins !== null || last === undefined || !fits(last, delivery, headers, kind)) {
      const changes = begins === null ? null : changesOf(begins, receivedAt);
      last = newBatch(delivery, headers, kind, changes);
      this.#batches.push(last);
    }
    last.ids.push(delivery.id);
    last.receivedAt.push(receivedAt);
    last.ackMs.push(delivery.ackMs);
    last.signatures.push(delivery.signature);
    last.bodyBytes.push(body.byteLength);
    last.keyBytes.push(key?.byteLength ?? 0);
    this.#parts.push(body);
    if (key !== null) this.#parts.push(key);
    this.#bytes += body.byteLength + (key?.byteLength ?? 0);
    this.#count++;
  }

  /**
   * The parts of a request. Its bytes have a separate buffer, so that it can be transferred.
   *
   * @throws Error when a body is not as long as it was: the places of all that follow would be wrong
   */
  encode(): { readonly adds: readonly AddBatch[]; readonly bytes: Uint8Array<ArrayBuffer> } {
    const bytes = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.byteLength;
    }
    if (at === this.#bytes) return { adds: this.#batches, bytes };
    throw new Error("A body changed its length while it waited to be stored");
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
        receivedAt: batch.receivedAt[index] ?? 0,
        ackMs: batch.ackMs[index] ?? 0,
        signature: batch.signatures[index] ?? null,
        body: bytes.subarray(from, keyFrom),
        key: keyFrom === to ? null : bytes.subarray(keyFrom, to),
      });
      from = to;
    }
  }
}

function fits(
  last: OpenBatch,
  { receiver, url, context }: NewDelivery,
  headers: string,
  kind: number,
): boolean {
  return (
    last.changes === null &&
    last.kind === kind &&
    last.headers === headers &&
    last.url === url &&
    last.receiver === receiver &&
    last.context === context
  );
}

function newBatch(
  { receiver, url, context }: NewDelivery,
  headers: string,
  kind: number,
  changes: Changes | null,
): OpenBatch {
  // Written out: an object made of spreads takes longer to serialize for the other thread.
  return {
    receiver,
    url,
    headers,
    context,
    kind,
    changes,
    ids: [],
    receivedAt: [],
    ackMs: [],
    signatures: [],
    bodyBytes: [],
    keyBytes: [],
  };
}

/** The text of headers: most deliveries have the same headers, as the same object. */
function commonText(headers: KeptHeaders): string {
  if (headers !== lastHeaders) {
    lastHeaders = headers;
    lastText = headersText(headers);
  }
  return lastText;
}
