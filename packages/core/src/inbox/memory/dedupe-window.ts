import { dayMs } from "../../lib/time/units.ts";
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
  // By signature, in the order of arrival, so that the oldest are dropped first. Nearly every signature has one key: a map for
  // each would cost more than the rest of storing.
  readonly #signatures = new Map<string, Siblings>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Finds the delivery with the same key, or the first one with the same signature, which is the key's first half. */
  find(key: string | null, now: number): { duplicateOf?: string; sameSignatureAs?: string } {
    const siblings = key === null ? undefined : this.#signatures.get(signatureOf(key));
    if (key === null || siblings === undefined) return {};
    const same = keyIn(siblings, key);
    if (same !== undefined && !isOver(same, now)) return { duplicateOf: same.id };
    this.forget(same);
    for (const known of keysOf(siblings)) {
      if (!isOver(known, now)) return { sameSignatureAs: known.id };
    }
    return {};
  }

  /** Adds the key of a new delivery, for which `find` found no duplicate. */
  add(key: string, id: string, at: number): DedupeKey {
    if (this.size === keysMax) this.prune(Number.POSITIVE_INFINITY, droppedAtOnce);
    const known = { key, id, at };
    const signature = signatureOf(key);
    const siblings = this.#signatures.get(signature);
    if (siblings instanceof Map) siblings.set(key, known);
    else this.#signatures.set(signature, siblings ? mapOf(siblings, known) : known);
    this.#size++;
    return known;
  }

  /** Drops a key, so that a copy of its delivery is new. Idempotent. */
  forget(known: DedupeKey | undefined): void {
    if (known === undefined) return;
    const signature = signatureOf(known.key);
    const siblings = this.#signatures.get(signature);
    if (siblings === undefined || keyIn(siblings, known.key) !== known) return;
    this.#size--;
    if (siblings instanceof Map) siblings.delete(known.key);
    if (siblings === known || (siblings instanceof Map && siblings.size === 0)) {
      this.#signatures.delete(signature);
    }
  }

  /** Drops keys that are older than the window, a limited number at a time; one whose signature came again may stay longer. */
  prune(now: number, most: number = keysMax): void {
    let left = most;
    for (const [signature, siblings] of this.#signatures) {
      const before = left;
      for (const known of keysOf(siblings)) {
        if (left === 0 || !isOver(known, now)) break;
        this.forget(known);
        left--;
      }
      const isNone = left === before;
      if (left === 0 || (isNone && !(siblings instanceof Map))) return;
      // Behind the others, in whose place it may be by a key that is gone.
      if (!isNone && this.#signatures.delete(signature)) this.#signatures.set(signature, siblings);
    }
  }
}

/** All keys with one signature, in the order of arrival. */
type Siblings = DedupeKey | Map<string, DedupeKey>;

function keyIn(siblings: Siblings, key: string): DedupeKey | undefined {
  if (siblings instanceof Map) return siblings.get(key);
  return siblings.key === key ? siblings : undefined;
}

function keysOf(siblings: Siblings): Iterable<DedupeKey> {
  return siblings instanceof Map ? siblings.values() : [siblings];
}

function mapOf(...all: readonly DedupeKey[]): Map<string, DedupeKey> {
  return new Map(all.map((known) => [known.key, known]));
}

/** The bytes of a key as text, which a map can look up. */
export function keyText(key: Uint8Array): string {
  return Reflect.apply(String.fromCharCode, null, key);
}

const signatureOf = (key: string): string => key.slice(0, signatureBytes);

const isOver = ({ at }: DedupeKey, now: number): boolean => now - at >= dayMs;
