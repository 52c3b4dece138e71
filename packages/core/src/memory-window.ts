interface Seen {
  readonly id: string;
  readonly key: string;
  readonly at: number;
}

const windowMs = 86_400_000;
const mostKeys = 200_000;

const nothing = {};

/** A key as the window takes it: a character for each byte. */
export function keyText(key: Uint8Array): string {
  return String.fromCharCode.apply(undefined, key as unknown as number[]);
}

/** The keys of the last 24 hours (at most the last 200,000): tells duplicates, and signatures that come again. */
export class DedupeWindow {
  readonly #byId = new Map<string, Seen>();
  // Nearly every signature comes once: only one that came with several bodies has a map of its own.
  readonly #bySignature = new Map<string, Seen | Map<string, Seen>>();

  /** How many keys it holds. */
  get size(): number {
    return this.#byId.size;
  }

  /** What is known of a key. */
  look(key: string, now: number): { duplicateOf?: string; sameSignatureAs?: string } {
    this.prune(now);
    const siblings = this.#bySignature.get(signatureIn(key));
    if (siblings === undefined) return nothing;
    const same = siblings instanceof Map ? siblings.get(key) : siblings;
    if (same?.key === key && now - same.at < windowMs) return { duplicateOf: same.id };
    for (const seen of siblings instanceof Map ? siblings.values() : [siblings]) {
      if (seen.key !== key && now - seen.at < windowMs) return { sameSignatureAs: seen.id };
    }
    return nothing;
  }

  add(key: string, id: string, at: number): void {
    const seen = { id, key, at };
    const signature = signatureIn(key);
    const siblings = this.#bySignature.get(signature);
    if (siblings instanceof Map) {
      const same = siblings.get(seen.key);
      if (same !== undefined) this.#byId.delete(same.id);
      siblings.set(seen.key, seen);
    } else if (siblings === undefined || siblings.key === seen.key) {
      if (siblings !== undefined) this.#byId.delete(siblings.id);
      this.#bySignature.set(signature, seen);
    } else {
      this.#bySignature.set(
        signature,
        new Map([
          [siblings.key, siblings],
          [seen.key, seen],
        ]),
      );
    }
    this.#byId.set(id, seen);
    if (this.#byId.size > mostKeys) this.prune(at);
  }

  forget(id: string): void {
    const seen = this.#byId.get(id);
    if (seen !== undefined) this.#remove(seen);
  }

  /** Drops what is older than the window. */
  prune(now: number): void {
    for (const seen of this.#byId.values()) {
      if (now - seen.at < windowMs && this.#byId.size <= mostKeys) break;
      this.#remove(seen);
    }
  }

  #remove({ id, key }: Seen): void {
    const signature = signatureIn(key);
    const siblings = this.#bySignature.get(signature);
    this.#byId.delete(id);
    if (siblings instanceof Map) siblings.delete(key);
    if (!(siblings instanceof Map) || siblings.size === 0) this.#bySignature.delete(signature);
  }
}

function signatureIn(key: string): string {
  return key.slice(0, 12);
}
