const windowMs = 86_400_000;
const mostKeys = 200_000;
const signatureBytes = 12;

/** A key, and the delivery that came with it. */
export class Seen {
  readonly id: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** The half of the key that the signature makes, and the half that the content makes: a character for each byte. */
  readonly signature: string;
  readonly content: string;
  /** Its neighbours in the order of arrival. */
  older: Seen | null = null;
  newer: Seen | null = null;

  constructor(key: Uint8Array, id: string, at: number) {
    this.id = id;
    this.at = at;
    const text: string = String.fromCharCode.apply(undefined, key as unknown as number[]);
    this.signature = text.slice(0, signatureBytes);
    this.content = text.slice(signatureBytes);
  }
}

const nothing = {};

/** The keys of the last 24 hours (at most the last 200,000): tells duplicates, and signatures that come again. */
export class DedupeWindow {
  // Nearly every signature comes once: only one that came with several bodies has a map of its own.
  readonly #bySignature = new Map<string, Seen | Map<string, Seen>>();
  // A list through its links, because a second map would cost as much as all the rest of storing.
  #oldest: Seen | null = null;
  #newest: Seen | null = null;
  #size = 0;

  /** How many keys it holds. */
  get size(): number {
    return this.#size;
  }

  /** What is known of the key of one that comes now. */
  look({ signature, content, at: now }: Seen): { duplicateOf?: string; sameSignatureAs?: string } {
    this.prune(now);
    const siblings = this.#bySignature.get(signature);
    if (siblings === undefined) return nothing;
    const same = siblings instanceof Map ? siblings.get(content) : siblings;
    if (same?.content === content && now - same.at < windowMs) return { duplicateOf: same.id };
    for (const seen of siblings instanceof Map ? siblings.values() : [siblings]) {
      if (seen.content !== content && now - seen.at < windowMs) return { sameSignatureAs: seen.id };
    }
    return nothing;
  }

  /** Takes a key in; one that is the same gives way. */
  add(seen: Seen): void {
    const { signature, content } = seen;
    const siblings = this.#bySignature.get(signature);
    if (siblings instanceof Map) {
      const same = siblings.get(content);
      if (same !== undefined) this.#unlink(same);
      siblings.set(content, seen);
    } else if (siblings === undefined || siblings.content === content) {
      if (siblings !== undefined) this.#unlink(siblings);
      this.#bySignature.set(signature, seen);
    } else {
      const both = [siblings, seen].map((one) => [one.content, one] as const);
      this.#bySignature.set(signature, new Map(both));
    }
    this.#link(seen);
    if (this.#size > mostKeys) this.prune(seen.at);
  }

  /** Drops a key, so that its copy is new; nothing happens if it is gone already. */
  forget(seen: Seen): void {
    const siblings = this.#bySignature.get(seen.signature);
    if (siblings instanceof Map ? siblings.get(seen.content) !== seen : siblings !== seen) return;
    if (siblings instanceof Map) siblings.delete(seen.content);
    if (!(siblings instanceof Map) || siblings.size === 0) this.#bySignature.delete(seen.signature);
    this.#unlink(seen);
  }

  /** Drops what is older than the window. */
  prune(now: number): void {
    for (let seen = this.#oldest; seen !== null; seen = this.#oldest) {
      if (now - seen.at < windowMs && this.#size <= mostKeys) return;
      this.forget(seen);
    }
  }

  #link(seen: Seen): void {
    seen.older = this.#newest;
    if (this.#newest === null) this.#oldest = seen;
    else this.#newest.newer = seen;
    this.#newest = seen;
    this.#size++;
  }

  #unlink(seen: Seen): void {
    const { older, newer } = seen;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    // What still holds it must not hold its neighbours, too.
    seen.older = null;
    seen.newer = null;
    this.#size--;
  }
}
