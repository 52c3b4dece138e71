import { dayMs } from "../retention.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

const keysMax = 200_000;
// The oldest are dropped many at a time: to find the first of a map takes long when many before it were deleted.
const droppedAtOnce = 2_000;
const signatureBytes = 12;

/** A key in the window, and the delivery that came with it. */
export interface DedupeKey {
  readonly key: string;
  readonly id: string;
  readonly at: number;
}

/** A delivery in memory. */
export interface MemoryDelivery extends StoredDelivery {
  /** Its key in the window; unsigned deliveries have none. */
  dedupeKey?: DedupeKey;
}

/** The keys of the last 24 hours, at most the last 200,000: tells duplicates, and signatures that come again. */
export class MemoryDedupeWindow {
  // In the order of arrival, so that the oldest are dropped first.
  readonly #keys = new Map<string, DedupeKey>();
  // Nearly every signature has one key: a set for each would cost more than the rest of storing.
  readonly #signatures = new Map<string, DedupeKey | Set<DedupeKey>>();

  get size(): number {
    return this.#keys.size;
  }

  /** Finds the delivery with the same key, or the first one with the same signature, which is the key's first half. */
  find(key: string | null, now: number): { duplicateOf?: string; sameSignatureAs?: string } {
    if (key === null) return {};
    const same = this.#keys.get(key);
    if (same !== undefined && !isOver(same, now)) return { duplicateOf: same.id };
    this.forget(same);
    const siblings = this.#signatures.get(signatureOf(key)) ?? [];
    for (const known of "key" in siblings ? [siblings] : siblings) {
      if (!isOver(known, now)) return { sameSignatureAs: known.id };
    }
    return {};
  }

  /** Adds the key of a new delivery, for which `find` found no duplicate. */
  add(key: string, id: string, at: number): DedupeKey {
    if (this.size === keysMax) this.prune(Number.POSITIVE_INFINITY, droppedAtOnce);
    const known = { key, id, at };
    this.#keys.set(key, known);
    const signature = signatureOf(key);
    const siblings = this.#signatures.get(signature);
    if (siblings instanceof Set) siblings.add(known);
    else this.#signatures.set(signature, siblings ? new Set([siblings, known]) : known);
    return known;
  }

  /** Drops a key, so that a copy of its delivery is new. Idempotent. */
  forget(known: DedupeKey | undefined): void {
    if (known === undefined || this.#keys.get(known.key) !== known) return;
    this.#keys.delete(known.key);
    const siblings = this.#signatures.get(signatureOf(known.key));
    if (siblings instanceof Set) siblings.delete(known);
    if (siblings === known || (siblings instanceof Set && siblings.size === 0)) {
      this.#signatures.delete(signatureOf(known.key));
    }
  }

  /** Drops keys that are older than the window, a limited number at a time. */
  prune(now: number, most: number = keysMax): void {
    let left = most;
    for (const known of this.#keys.values()) {
      if (left-- === 0 || !isOver(known, now)) return;
      this.forget(known);
    }
  }
}

/** The bytes of a key as text, which a map can look up. */
export function keyText(key: Uint8Array): string {
  return Reflect.apply(String.fromCharCode, null, key);
}

const signatureOf = (key: string): string => key.slice(0, signatureBytes);

const isOver = ({ at }: DedupeKey, now: number): boolean => now - at >= dayMs;
