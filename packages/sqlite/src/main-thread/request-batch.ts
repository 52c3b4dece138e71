import type { KeptHeaders, NewDelivery } from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";
import type { Value } from "../database/driver.ts";
import type { Alike, Call, LaneState, Recorded, Request } from "../protocol/protocol.ts";
import { changesOf, textOf } from "../protocol/row.ts";

/** Those that are sent together, as long as more of them may come. */
interface Sending extends Alike {
  readonly ids: string[];
  readonly receivedAt: number[];
  readonly ackMs: number[];
  readonly signatures: (string | null)[];
  readonly bodyBytes: number[];
  readonly keyBytes: number[];
}

let lastHeaders: KeptHeaders | undefined;
let lastText = "";

/** What is asked for in one turn of the event loop, until it is sent. */
export class Outbox {
  #adds: Sending[] = [];
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #records: Recorded[] = [];
  #calls: Call[] = [];
  #deliveries = 0;

  /** How many deliveries are in it. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** Takes a delivery in; `begins` is how, when not as received. */
  add(delivery: NewDelivery, kind: number, begins: Kept | null): void {
    const { receivedAt, body, key } = delivery;
    const headers = commonText(delivery.headers);
    let last = this.#adds.at(-1);
    if (begins !== null || last === undefined || !isAlike(last, delivery, headers, kind)) {
      const changes = begins === null ? null : changesOf(begins, receivedAt);
      last = sendingOf(delivery, headers, kind, changes);
      this.#adds.push(last);
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
    this.#deliveries++;
  }

  record(recorded: Recorded): void {
    this.#records.push(recorded);
  }

  /** Throws for what can't cross to the thread, so that it keeps back nothing else. */
  call(call: Call): void {
    this.#calls.push(structuredClone(call));
  }

  /**
   * All of it as one message. Its bytes are in memory that is nothing else's and can be handed over.
   *
   * @throws Error when a body is not as long as it was: the places of all that follow would be wrong
   */
  take(lanes: readonly LaneState[]): Request & { readonly bytes: Uint8Array<ArrayBuffer> } {
    // Written out, as a reply is: what is made of spreads takes longer to be read off for the other thread.
    const request = {
      adds: this.#adds,
      bytes: joined(this.#parts, this.#bytes),
      records: this.#records,
      calls: this.#calls,
      lanes,
      sentAt: performance.now(),
    };
    [this.#adds, this.#parts, this.#records, this.#calls] = [[], [], [], []];
    [this.#deliveries, this.#bytes] = [0, 0];
    return request;
  }
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  if (at !== bytes) throw new Error("A body changed its length while it waited to be stored");
  return all;
}

function isAlike(
  last: Sending,
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

function sendingOf(
  { receiver, url, context }: NewDelivery,
  headers: string,
  kind: number,
  changes: readonly Value[] | null,
): Sending {
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

/** Most deliveries have the same ones, and the receiver gives those the same object. */
function commonText(headers: KeptHeaders): string {
  if (headers !== lastHeaders) {
    lastHeaders = headers;
    lastText = textOf(headers);
  }
  return lastText;
}
