import { countReason, type ReasonTally } from "../counts.ts";
import { isParked } from "../delivery.ts";
import { isUnsigned, maxUnsigned, wholeRejected } from "../retention.ts";
import type { StoredDelivery } from "../stored-delivery.ts";
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
  parked: ["wholeRejected", "unsignedDead", "notVerified", "parked"],
} as const;

/** The deliveries at the end of their way: the latest of each kind. */
export class EndedDeliveries {
  /** The parked ones that were dropped, by reason. */
  madeRoom: ReasonTally = {};
  // In the order in which they ended.
  readonly #kinds = new Map<Kind, Set<MemoryDelivery>>(
    (Object.keys(endedMax) as Kind[]).map((kind) => [kind, new Set<MemoryDelivery>()]),
  );
  readonly #delete: (stored: MemoryDelivery) => void;
  readonly #empty: (stored: MemoryDelivery) => void;
  #wholeBytes = 0;

  /** `onDrop` deletes one, `onEmpty` drops the content of a rejected one. */
  constructor(onDrop: (stored: MemoryDelivery) => void, onEmpty: (stored: MemoryDelivery) => void) {
    this.#delete = onDrop;
    this.#empty = onEmpty;
  }

  /** Adds a delivery; the oldest of its kind make room if there are too many. */
  add(stored: MemoryDelivery): void {
    const kind = kindOf(stored);
    const all = this.#kinds.get(kind)?.add(stored);
    if (kind === "wholeRejected") this.#wholeBytes += bytesOf(stored);
    const isOver = (): boolean =>
      (all?.size ?? 0) > endedMax[kind] ||
      (kind === "wholeRejected" && this.#wholeBytes > wholeRejected.bytes);
    for (const oldest of all ?? []) {
      if (!isOver()) break;
      this.#drop(oldest, kind);
    }
  }

  delete(stored: MemoryDelivery): void {
    const isWhole = this.#kinds.get("wholeRejected")?.delete(stored) === true;
    if (isWhole) this.#wholeBytes -= bytesOf(stored);
    for (const kind of this.#kinds.values()) kind.delete(stored);
  }

  /** Drops those that make room for new or for parked ones, the oldest of each kind first, until it fits; false: it doesn't. */
  makeRoom(room: keyof typeof makingRoom, fits: () => boolean): boolean {
    if (fits()) return true;
    for (const kind of makingRoom[room]) {
      for (const stored of this.#kinds.get(kind) ?? []) {
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
export function bytesOf(
  delivery: Pick<StoredDelivery, "body" | "signature" | "url" | "context" | "headers">,
): number {
  const { body, signature, url, context, headers } = delivery;
  let texts = url.length + (signature?.length ?? 0) + (context?.length ?? 0);
  for (const name in headers) texts += headers[name]?.length ?? 0;
  return (body?.byteLength ?? 0) + Math.max(0, texts - usualBytes);
}
