import { maxUnsigned } from "../delivery.ts";
import { isUnsigned } from "../retention.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

/** The number of ended deliveries to keep, by kind; parked kinds have no limit. */
const endedMax = {
  unsignedHandled: maxUnsigned,
  handled: 1_000,
  unsignedDead: maxUnsigned,
  notVerified: 10_000,
  rejected: 10_000,
};

/** The deliveries at the end of their way: the latest of each kind. */
export class Ended<T extends StoredDelivery> {
  // In the order in which they ended; the first kinds make room first.
  readonly #kinds = new Map<string, Set<T>>(
    Object.keys(endedMax).map((kind) => [kind, new Set<T>()]),
  );

  /** Adds a delivery; calls `drop` with the oldest of its kind if there are too many. */
  add(stored: T, drop: (oldest: T) => void): void {
    const kind = kindOf(stored);
    const all = kind && this.#kinds.get(kind)?.add(stored);
    if (!all || all.size <= endedMax[kind]) return;
    const [oldest] = all;
    if (oldest !== undefined) drop(oldest);
  }

  delete(stored: T): void {
    for (const kind of this.#kinds.values()) kind.delete(stored);
  }

  /** The deliveries that may be dropped to make room. Rejected ones have no bytes. */
  *oldest(): Generator<T> {
    for (const [kind, all] of this.#kinds) if (kind !== "rejected") yield* all;
  }
}

function kindOf(stored: StoredDelivery): keyof typeof endedMax | null {
  const { state, verification, released } = stored;
  if (state === "rejected") return "rejected";
  if (state === "handled") return isUnsigned(stored) ? "unsignedHandled" : "handled";
  if (state === "dead" && isUnsigned(stored)) return "unsignedDead";
  return verification === "valid" || released ? null : "notVerified";
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
