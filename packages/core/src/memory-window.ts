interface Seen {
  readonly id: string;
  readonly key: string;
  readonly at: number;
}

const windowMs = 86_400_000;
const mostKeys = 200_000;

/** The keys of the last 24 hours (at most the last 200,000): tells duplicates, and signatures that come again. */
export class DedupeWindow {
  readonly #byKey = new Map<string, Seen>();
  readonly #bySignature = new Map<string, Seen>();
  readonly #byId = new Map<string, Seen>();

  /** What is known of a key. */
  look(key: Uint8Array, now: number): { duplicateOf?: string; sameSignatureAs?: string } {
    const name = nameOf(key);
    const same = this.#byKey.get(name);
    if (same !== undefined && now - same.at < windowMs) return { duplicateOf: same.id };
    const earlier = this.#bySignature.get(name.slice(0, 12));
    if (earlier === undefined || now - earlier.at >= windowMs || earlier.key === name) return {};
    return { sameSignatureAs: earlier.id };
  }

  add(key: Uint8Array, id: string, at: number): void {
    const seen = { id, key: nameOf(key), at };
    this.#byKey.delete(seen.key);
    this.#byKey.set(seen.key, seen);
    this.#bySignature.set(seen.key.slice(0, 12), seen);
    this.#byId.set(id, seen);
    this.prune(at);
  }

  forget(id: string): void {
    const seen = this.#byId.get(id);
    if (seen !== undefined) this.#remove(seen);
  }

  /** Drops what is older than the window. */
  prune(now: number): void {
    for (const seen of this.#byKey.values()) {
      if (now - seen.at < windowMs && this.#byKey.size <= mostKeys) break;
      this.#remove(seen);
    }
  }

  #remove(seen: Seen): void {
    const { id, key } = seen;
    const signature = key.slice(0, 12);
    this.#byId.delete(id);
    if (this.#byKey.get(key) === seen) this.#byKey.delete(key);
    if (this.#bySignature.get(signature) === seen) this.#bySignature.delete(signature);
  }
}

function nameOf(key: Uint8Array): string {
  return String.fromCharCode(...key);
}
