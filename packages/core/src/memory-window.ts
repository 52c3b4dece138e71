import { Chains, none } from "./chains.ts";

const windowMs = 86_400_000;
const mostKeys = 200_000;
const firstRoom = 1_024;
const wordsOfKey = 6;
const wordsOfSignature = 3;

/** What is known of a key. */
export interface Known {
  readonly duplicateOf?: string;
  readonly sameSignatureAs?: string;
}

const nothing: Known = {};
const noSeeds = new Uint32Array(2);
const bytes = new Uint8Array(4 * wordsOfKey);
const words = new Uint32Array(bytes.buffer);

/**
 * The keys of the last 24 hours, of the last 200,000 deliveries at most: tells duplicates, and signatures that come again.
 * They lie in typed arrays: as objects they would cost more than all the rest of storing.
 */
export class DedupeWindow {
  // Numbers from the first to the one before the next have a slot each: the key's words, when it came, and the id, which is
  // empty when the key is forgotten.
  #first = 0;
  #next = 0;
  #size = 0;
  #room = 0;
  #words = new Uint32Array();
  #times = new Float64Array();
  #ids: string[] = [];
  #keys = new Chains(2, noSeeds);
  #signatures = this.#keys;

  /** How many keys it holds. */
  get size(): number {
    return this.#size;
  }

  /** What is known of a key that comes now. Its first half is made of the signature, its second one of the content. */
  look(key: Uint8Array, now: number): Known {
    this.prune(now);
    if (this.#size === 0) return nothing;
    bytes.set(key);
    const same = this.#find(this.#keys, wordsOfKey, now);
    if (same !== null) return { duplicateOf: same };
    const sibling = this.#find(this.#signatures, wordsOfSignature, now);
    return sibling === null ? nothing : { sameSignatureAs: sibling };
  }

  /** Takes a key in; `number` is greater than all before. */
  add(number: number, key: Uint8Array, id: string, at: number): void {
    while (this.#size > 0 && number - this.#first >= mostKeys) this.forget(this.#first);
    if (this.#size === 0) this.#first = number;
    if (number - this.#first >= this.#room) this.#grow(number);
    this.#next = number + 1;
    this.#size++;
    const slot = number % this.#room;
    bytes.set(key);
    this.#words.set(words, slot * wordsOfKey);
    this.#times[slot] = at;
    this.#ids[slot] = id;
    this.#link(slot);
  }

  /** Drops a key, so that its copy is new; nothing happens if it is gone already. */
  forget(number: number): void {
    const slot = number % this.#room;
    if (number < this.#first || number >= this.#next || this.#ids[slot] === "") return;
    const from = slot * wordsOfKey;
    this.#keys.remove(hashOf(this.#words, from, wordsOfKey), slot);
    this.#signatures.remove(hashOf(this.#words, from, wordsOfSignature), slot);
    this.#ids[slot] = "";
    this.#size--;
    while (this.#size > 0 && this.#ids[this.#first % this.#room] === "") this.#first++;
  }

  /** Drops what is older than the window. */
  prune(now: number): void {
    while (this.#size > 0 && now - this.#timeOf(this.#first % this.#room) >= windowMs) {
      this.forget(this.#first);
    }
  }

  /** The id of the first key that begins with the same words. */
  #find(chains: Chains, length: number, now: number): string | null {
    const hash = hashOf(words, 0, length);
    for (let slot = chains.first(hash); slot !== none; slot = chains.after(slot)) {
      if (now - this.#timeOf(slot) < windowMs && this.#begins(slot, length)) {
        return this.#ids[slot] ?? null;
      }
    }
    return null;
  }

  #begins(slot: number, length: number): boolean {
    for (let at = 0; at < length; at++) {
      if (this.#words[slot * wordsOfKey + at] !== words[at]) return false;
    }
    return true;
  }

  #link(slot: number): void {
    const from = slot * wordsOfKey;
    this.#keys.add(hashOf(this.#words, from, wordsOfKey), slot);
    this.#signatures.add(hashOf(this.#words, from, wordsOfSignature), slot);
  }

  /** Makes room for the numbers up to `last`. */
  #grow(last: number): void {
    const before = { words: this.#words, times: this.#times, ids: this.#ids, room: this.#room };
    while (last - this.#first >= this.#room) this.#room = Math.max(firstRoom, 4 * this.#room);
    this.#words = new Uint32Array(this.#room * wordsOfKey);
    this.#times = new Float64Array(this.#room);
    this.#ids = new Array<string>(this.#room).fill("");
    const seeds = crypto.getRandomValues(new Uint32Array(2));
    this.#keys = new Chains(this.#room, seeds);
    this.#signatures = new Chains(this.#room, seeds);
    for (let number = this.#first; number < this.#next; number++) {
      const from = number % before.room;
      const id = before.ids[from] ?? "";
      if (id === "") continue;
      const slot = number % this.#room;
      for (let at = 0; at < wordsOfKey; at++) {
        this.#words[slot * wordsOfKey + at] = before.words[from * wordsOfKey + at] ?? 0;
      }
      this.#times[slot] = before.times[from] ?? 0;
      this.#ids[slot] = id;
      this.#link(slot);
    }
  }

  #timeOf(slot: number): number {
    return this.#times[slot] ?? 0;
  }
}

/** A hash of so many words, in whichever of them keys differ. */
function hashOf(all: Uint32Array, from: number, length: number): number {
  let hash = 0;
  for (let at = from; at < from + length; at++) hash ^= all[at] ?? 0;
  return hash;
}
