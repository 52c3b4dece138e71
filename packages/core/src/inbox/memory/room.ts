import { ReporthookError } from "../../errors.ts";
import { countReason, type ReasonTally } from "../counts.ts";
import { isParked, type NewDelivery } from "../delivery.ts";
import { maxUnsigned, wholeRejected } from "../retention.ts";
import { isUnsigned, type StoredDelivery } from "../stored-delivery.ts";
import type { MemoryDelivery } from "./dedupe-window.ts";

/** The number of ended deliveries to keep, by kind. */
const endedMax = {
  unsignedHandled: maxUnsigned,
  handled: 1_000,
  unsignedDead: maxUnsigned,
  notVerified: 10_000,
  parked: Number.POSITIVE_INFINITY,
  wholeRejected: wholeRejected.max,
  rejected: 10_000 - wholeRejected.max,
};

type Kind = keyof typeof endedMax;

/** The kinds that make room for new deliveries, and those that make room for parked ones: the first of them first. */
const makingRoom = {
  new: ["wholeRejected", "unsignedHandled", "handled", "unsignedDead", "notVerified"],
  parked: ["unsignedDead", "notVerified", "parked"],
} as const;

type Drop = (stored: MemoryDelivery) => void;

/** The room that deliveries take: the bytes of all, and those at the end of their way, the latest of each kind. */
export class MemoryRoom {
  /** The parked ones that were dropped, by reason. */
  madeRoom: ReasonTally = {};
  // In the order in which they ended.
  readonly #ended = new Map<Kind, Set<MemoryDelivery>>(
    (Object.keys(endedMax) as Kind[]).map((kind) => [kind, new Set<MemoryDelivery>()]),
  );
  readonly #delete: Drop;
  readonly #empty: Drop;
  readonly #maxBytes: number;
  #bytes = 0;
  #parkedBytes = 0;
  #wholeBytes = 0;

  /** `onDrop` deletes one, `onEmpty` drops the content of a rejected one. */
  constructor(maxBytes: number, onDrop: Drop, onEmpty: Drop) {
    this.#maxBytes = maxBytes;
    this.#delete = onDrop;
    this.#empty = onEmpty;
  }

  /** Counts the bytes of a delivery, or takes them out. */
  count(stored: MemoryDelivery, by: 1 | -1): void {
    const bytes = by * bytesOf(stored);
    this.#bytes += bytes;
    if (isParked(stored.state)) this.#parkedBytes += bytes;
  }

  /** Makes room for a new delivery. Throws `overloaded` if all that may be dropped is not enough. */
  makeFor(delivery: NewDelivery): void {
    const most = this.#maxBytes - bytesOf(delivery);
    if (this.#make("new", () => this.#bytes <= most)) return;
    const message = `The deliveries waiting in memory are over maxBytes (${this.#maxBytes})`;
    throw new ReporthookError("overloaded", message);
  }

  /** Adds one that has ended: the oldest of its kind make room if there are too many. Parked ones take at most half of the bytes. */
  add(stored: MemoryDelivery): void {
    const kind = kindOf(stored);
    const all = this.#ended.get(kind)?.add(stored);
    if (kind === "wholeRejected") this.#wholeBytes += bytesOf(stored);
    const isOver = (): boolean =>
      (all?.size ?? 0) > endedMax[kind] ||
      (kind === "wholeRejected" && this.#wholeBytes > wholeRejected.bytes);
    for (const oldest of all ?? []) {
      if (!isOver()) break;
      this.#drop(oldest, kind);
    }
    this.#make("parked", () => this.#parkedBytes <= this.#maxBytes / 2);
  }

  /** Takes one out, before it changes. */
  delete(stored: MemoryDelivery): void {
    const kind = kindOf(stored);
    const wasThere = this.#ended.get(kind)?.delete(stored) === true;
    if (wasThere && kind === "wholeRejected") this.#wholeBytes -= bytesOf(stored);
  }

  /** Drops those that make room, the oldest of each kind first, until it fits; false: it doesn't. */
  #make(room: keyof typeof makingRoom, fits: () => boolean): boolean {
    if (fits()) return true;
    for (const kind of makingRoom[room]) {
      for (const stored of this.#ended.get(kind) ?? []) {
        this.#drop(stored, kind);
        if (fits()) return true;
      }
    }
    return false;
  }

  /** The latest of the dead unsigned ones are kept: only these are not told. */
  #drop(stored: MemoryDelivery, kind: Kind): void {
    if (kind === "wholeRejected") {
      this.#empty(stored);
      return;
    }
    const { state } = stored;
    if (isParked(state) && !(state === "dead" && isUnsigned(stored))) {
      countReason(this.madeRoom, stored);
    }
    this.#delete(stored);
  }
}

function kindOf(stored: StoredDelivery): Kind {
  const { state, verification, released, body } = stored;
  if (state === "rejected") return body === null ? "rejected" : "wholeRejected";
  if (state === "handled") return isUnsigned(stored) ? "unsignedHandled" : "handled";
  if (state === "dead" && isUnsigned(stored)) return "unsignedDead";
  return verification === "valid" || released ? "parked" : "notVerified";
}

/** Bytes of texts that are not counted: about as much as every delivery takes. */
const usualBytes = 256;

/** The bytes of a delivery beyond those of every delivery. */
function bytesOf(
  delivery: Pick<StoredDelivery, "body" | "signature" | "url" | "context" | "headers">,
): number {
  const { body, signature, url, context, headers } = delivery;
  let texts = url.length + (signature?.length ?? 0) + (context?.length ?? 0);
  for (const name in headers) texts += headers[name]?.length ?? 0;
  return (body?.byteLength ?? 0) + Math.max(0, texts - usualBytes);
}
