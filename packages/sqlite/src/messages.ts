import {
  type Added,
  type ErrorCode,
  type KeptHeaders,
  type NewDelivery,
  ReporthookError,
} from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";
import type { Leased } from "./ahead.ts";
import type { Value } from "./driver.ts";
import type { AddResult, Alike, Failure, Handed } from "./protocol.ts";
import { changesOf, keptOf } from "./row.ts";

let lastHeaders: KeptHeaders | undefined;
let lastText = "";

/** What became of a delivery that did not fail. */
export type Stored = Exclude<AddResult, Failure>;

/** What the thread leased to a lane. */
export interface LeasedToLane extends Leased {
  readonly lane: number;
  /** How many of the lane's it takes. */
  readonly places: number;
}

/** Those that are sent together, as long as more of them may come. */
export interface Sending extends Alike {
  readonly ids: string[];
  readonly receivedAt: number[];
  readonly ackMs: number[];
  readonly signatures: (string | null)[];
  readonly bodyBytes: number[];
  readonly keyBytes: number[];
}

/** Takes a delivery in to be sent. */
export function addTo(
  adds: Sending[],
  delivery: NewDelivery,
  kind: number,
  begins: Kept | null,
): void {
  const { receivedAt, body, key } = delivery;
  const headers = textOf(delivery.headers);
  let last = adds.at(-1);
  if (begins !== null || last === undefined || !isAlike(last, delivery, headers, kind)) {
    const changes = begins === null ? null : changesOf(begins, receivedAt);
    last = sendingOf(delivery, headers, kind, changes);
    adds.push(last);
  }
  last.ids.push(delivery.id);
  last.receivedAt.push(receivedAt);
  last.ackMs.push(delivery.ackMs);
  last.signatures.push(delivery.signature);
  last.bodyBytes.push(body.byteLength);
  last.keyBytes.push(key?.byteLength ?? 0);
}

/** Everything one after the other, in memory that is nothing else's and can be handed over. */
export function joined(parts: readonly Uint8Array[], bytes: number): Buffer<ArrayBuffer> {
  const all = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
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
function textOf(headers: KeptHeaders): string {
  if (headers !== lastHeaders) {
    lastHeaders = headers;
    lastText = JSON.stringify(headers);
  }
  return lastText;
}

/** Under which number (0: none), and with which earlier one's signature. */
export function storedUnder(result: Stored): [number, string | null] {
  if (typeof result === "number") return [result, null];
  return "seq" in result ? [result.seq, result.sameSignatureAs] : [0, null];
}

/** What is told of it. */
export function addedOf(id: string, result: Stored): Added {
  if (typeof result === "number") return { status: "added", id };
  if ("duplicateOf" in result) return { status: "duplicate", id: result.duplicateOf };
  return { status: "added", id, sameSignatureAs: result.sameSignatureAs };
}

/** One that was leased, with what is in memory of it or was read. */
export function leasedOf(
  { lane, seq, row, receiver, places }: Handed,
  owner: number,
  inMemory: ReadonlyMap<number, Kept>,
): LeasedToLane {
  const kept = row === null ? inMemory.get(seq) : keptOf(row, receiver);
  if (kept === undefined) throw new Error(`The thread leased ${seq}, which is not in memory`);
  return { lane, seq, owner, kept, places };
}

/** The error that a failure in the thread stands for. */
export function errorOf({ code, failed }: Failure): ReporthookError {
  return new ReporthookError(code as ErrorCode, failed);
}
