import type { KeptHeaders, NewDelivery } from "@reporthook/core";
import { isNotification, type StoredDelivery } from "@reporthook/core/store";
import type { ThreadCall } from "./operations.ts";
import type { Additions, Completion, ConsumerState, Message, Origin } from "./protocol.ts";
import { changesOf, headersText } from "./row.ts";

/** The parts of a delivery beside its {@link Origin}. */
export type Addition = Pick<
  NewDelivery,
  "id" | "arrivedAt" | "requestId" | "signature" | "body" | "key"
>;

/** All that is asked for in one tick, until it is sent. */
export class MessageBuilder {
  readonly #adds: Additions = {
    origins: [],
    originAt: [],
    ids: [],
    arrivedAt: [],
    requestIds: [],
    signatures: [],
    bodyBytes: [],
    keyBytes: [],
  };
  /** The headers of each origin. */
  readonly #headers: KeptHeaders[] = [];
  /** The index of the last origin of each receiver. */
  readonly #originAt = new Map<string, number>();
  readonly #parts: Uint8Array[] = [];
  readonly #completions: Completion[] = [];
  readonly #calls: ThreadCall[] = [];
  #bytes = 0;

  get deliveries(): number {
    return this.#adds.ids.length;
  }

  /** Adds a delivery; `begins` is its first state if that is not received. */
  add(delivery: NewDelivery, kind: string, begins: StoredDelivery | null): void {
    const { arrivedAt, body, key } = delivery;
    const adds = this.#adds;
    adds.originAt.push(this.#originOf(delivery, kind, begins));
    adds.ids.push(delivery.id);
    adds.arrivedAt.push(arrivedAt);
    adds.requestIds.push(delivery.requestId);
    adds.signatures.push(delivery.signature);
    adds.bodyBytes.push(body.byteLength);
    adds.keyBytes.push(key?.byteLength ?? 0);
    this.#parts.push(body);
    if (key !== null) this.#parts.push(key);
    this.#bytes += body.byteLength + (key?.byteLength ?? 0);
  }

  complete(completion: Completion): void {
    this.#completions.push(completion);
  }

  /** Adds a call. Throws if it can't cross to the thread, so that it does not block the others. */
  call(call: ThreadCall): void {
    this.#calls.push(structuredClone(call));
  }

  /**
   * The message, whose bytes can be transferred.
   *
   * @throws Error when a body is not as long as it was: the places of all that follow would be wrong
   */
  encode(
    consumers: readonly ConsumerState[],
  ): Message & { readonly bytes: Uint8Array<ArrayBuffer> } {
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

  /** The index of the delivery's origin: that of the last one of its receiver, if it is the same. */
  #originOf(delivery: NewDelivery, kind: string, begins: StoredDelivery | null): number {
    const { receiver, url, headers, context, arrivedAt } = delivery;
    const { origins } = this.#adds;
    const at = this.#originAt.get(receiver) ?? -1;
    const last = origins[at];
    const fits =
      last !== undefined &&
      begins === null &&
      last.changes === null &&
      last.kind === kind &&
      last.url === url &&
      last.context === context &&
      // A receiver gives equal ones as one object.
      this.#headers[at] === headers;
    if (fits) return at;
    const origin = {
      receiver,
      url,
      context,
      kind,
      headers: headersText(headers),
      isNotification: begins === null || isNotification(begins),
      changes: begins === null ? null : changesOf(begins, arrivedAt),
    };
    this.#headers.push(headers);
    this.#originAt.set(receiver, origins.length);
    return origins.push(origin) - 1;
  }
}

/** Calls `take` with each addition of a message, in order. */
export function eachAddition(
  { adds, bytes }: Message,
  take: (origin: Origin, addition: Addition) => void,
): void {
  let from = 0;
  for (let index = 0; index < adds.ids.length; index++) {
    const keyFrom = from + (adds.bodyBytes[index] ?? 0);
    const to = keyFrom + (adds.keyBytes[index] ?? 0);
    take(adds.origins[adds.originAt[index] ?? 0] as Origin, {
      id: adds.ids[index] ?? "",
      arrivedAt: adds.arrivedAt[index] ?? 0,
      requestId: adds.requestIds[index] ?? null,
      signature: adds.signatures[index] ?? null,
      body: bytes.subarray(from, keyFrom),
      key: keyFrom === to ? null : bytes.subarray(keyFrom, to),
    });
    from = to;
  }
}
