import type { KeptHeaders, NewDelivery } from "@reporthook/core";
import { isNotification, type StoredDelivery } from "@reporthook/core/store";
import type { ThreadCall } from "./operations.ts";
import type { Addition, Completion, ConsumerState, Message, Origin } from "./protocol.ts";
import { changesOf, headersText } from "./row.ts";

/** The parts of a delivery beside its {@link Origin}. */
export type OwnParts = Pick<
  NewDelivery,
  "id" | "arrivedAt" | "requestId" | "signature" | "body" | "key"
>;

// This many are sent before the end of the tick: while the thread stores them, the main thread reads the next.
const mostAdds = 16;

/** All that is asked for in one tick, until it is sent. */
export class MessageBuilder {
  readonly #adds: Addition[] = [];
  /** The last origin of each receiver, and its headers. */
  readonly #origins = new Map<string, { readonly origin: Origin; readonly headers: KeptHeaders }>();
  readonly #parts: Uint8Array[] = [];
  readonly #completions: Completion[] = [];
  readonly #calls: ThreadCall[] = [];
  #bytes = 0;

  /** Whether it has as many deliveries as are sent at a time. */
  get isFull(): boolean {
    return this.#adds.length === mostAdds;
  }

  /** Adds a delivery; `begins` is its first state if that is not received. */
  add(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): void {
    const { id, arrivedAt, requestId, signature, body, key } = delivery;
    const origin = this.#originOf(delivery, kind, begins);
    const [bodyBytes, keyBytes] = [body.byteLength, key?.byteLength ?? 0];
    this.#adds.push([origin, id, arrivedAt, requestId, signature, bodyBytes, keyBytes]);
    this.#parts.push(body);
    if (key !== null) this.#parts.push(key);
    this.#bytes += bodyBytes + keyBytes;
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

  /** The origin of a delivery: the last one of its receiver, if it is the same. */
  #originOf(delivery: NewDelivery, kind: number, begins: StoredDelivery | null): Origin {
    const { receiver, url, headers, context, arrivedAt } = delivery;
    const { origin: last, headers: lastHeaders } = this.#origins.get(receiver) ?? {};
    const fits =
      last !== undefined &&
      begins === null &&
      last.changes === null &&
      last.kind === kind &&
      last.url === url &&
      last.context === context &&
      // A receiver gives equal ones as one object.
      lastHeaders === headers;
    if (fits) return last;
    const origin = {
      receiver,
      url,
      context,
      kind,
      headers: headersText(headers),
      isNotification: begins === null || isNotification(begins),
      changes: begins === null ? null : changesOf(begins, arrivedAt),
    };
    this.#origins.set(receiver, { origin, headers });
    return origin;
  }
}

/** Calls `take` with each addition of a message, in order. */
export function eachAddition(
  { adds, bytes }: Message,
  take: (origin: Origin, own: OwnParts) => void,
): void {
  let from = 0;
  for (const [origin, id, arrivedAt, requestId, signature, bodyBytes, keyBytes] of adds) {
    const keyFrom = from + bodyBytes;
    const body = bytes.subarray(from, keyFrom);
    from = keyFrom + keyBytes;
    const key = keyBytes === 0 ? null : bytes.subarray(keyFrom, from);
    take(origin, { id, arrivedAt, requestId, signature, body, key });
  }
}
