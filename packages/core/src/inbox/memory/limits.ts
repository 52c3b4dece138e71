import { isUnsigned, maxUnsigned } from "../retention.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

/** The number of ended deliveries to keep, by kind. */
const endedMax = {
  unsignedHandled: maxUnsigned,
  handled: 1_000,
  unsignedDead: maxUnsigned,
  notVerified: 10_000,
  parked: Number.POSITIVE_INFINITY,
  rejected: 10_000,
};

type Kind = keyof typeof endedMax;

/** The kinds that make room for new deliveries, and those that make room for parked ones: the first of them first. */
const makeRoom = {
  new: ["unsignedHandled", "handled", "unsignedDead", "notVerified"],
  parked: ["unsignedDead", "notVerified", "parked"],
} as const;

/** The deliveries at the end of their way: the latest of each kind. */
export class EndedDeliveries<T extends StoredDelivery> {
  // In the order in which they ended.
  readonly #kinds = new Map<Kind, Set<T>>(
    (Object.keys(endedMax) as Kind[]).map((kind) => [kind, new Set<T>()]),
  );

  /** Adds a delivery; calls `drop` with the oldest of its kind if there are too many. */
  add(stored: T, drop: (oldest: T) => void): void {
    const kind = kindOf(stored);
    const all = this.#kinds.get(kind)?.add(stored);
    if (all === undefined || all.size <= endedMax[kind]) return;
    const [oldest] = all;
    if (oldest !== undefined) drop(oldest);
  }

  delete(stored: T): void {
    for (const kind of this.#kinds.values()) kind.delete(stored);
  }

  /** The deliveries that may be dropped to make room for new or for parked ones, the oldest of each kind first. */
  *oldest(room: keyof typeof makeRoom): Generator<T> {
    for (const kind of makeRoom[room]) yield* this.#kinds.get(kind) ?? [];
  }
}

function kindOf(stored: StoredDelivery): Kind {
  const { state, verification, released } = stored;
  if (state === "rejected") return "rejected";
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
