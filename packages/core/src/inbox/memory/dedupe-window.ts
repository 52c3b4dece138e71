import { Chains, hashOf, none } from "./chains.ts";

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
const bytes = new Uint8Array(4 * wordsOfKey);
const words = new Uint32Array(bytes.buffer);

/**
 * The keys of the last 24 hours (at most the last 200,000): tells duplicates, and signatures that come again. They lie in
 * typed arrays: as objects they would cost more than all the rest of storing.
 */
export class DedupeWindow {
  #room = 0;
  // Each key has a slot: its words, when it came, and the id, which is empty while the slot is free.
  #words = new Uint32Array();
  #times = new Float64Array();
  readonly #ids: string[] = [];
  #free: number[] = [];
  // All of them in their order, and by the hashes of the whole key and of its signature's half.
  #order = new Chains(0, 2);
  readonly #seeds = new Uint32Array(2);
  #keys = this.#order;
  #signatures = this.#order;

  /** How many keys it holds. */
  get size(): number {
    return this.#room - this.#free.length;
  }

  /** What is known of a key that comes now. Its first half is made of the signature, its second one of the content. */
  look(key: Uint8Array, now: number): Known {
    this.prune(now);
    if (this.size === 0) return nothing;
    bytes.set(key);
    const same = this.#find(this.#keys, wordsOfKey, now);
    if (same !== null) return { duplicateOf: same };
    const sibling = this.#find(this.#signatures, wordsOfSignature, now);
    return sibling === null ? nothing : { sameSignatureAs: sibling };
  }

  /** Takes a key in; returns its slot. */
  add(key: Uint8Array, id: string, at: number): number {
    if (this.size === mostKeys) this.#drop(this.#order.first(0));
    if (this.#free.length === 0) this.#grow();
    const slot = this.#free.pop() ?? none;
    bytes.set(key);
    this.#words.set(words, slot * wordsOfKey);
    this.#times[slot] = at;
    this.#ids[slot] = id;
    this.#order.add(0, slot);
    this.#link(slot);
    return slot;
  }

  /** Drops the key of a delivery, so that its copy is new; nothing happens if it is gone already. */
  forget(slot: number, id: string): void {
    if (id !== "" && this.#ids[slot] === id) this.#drop(slot);
  }

  /** Drops what is older than the window. */
  prune(now: number): void {
    for (;;) {
      const slot = this.#order.first(0);
      if (slot === none || now - this.#timeOf(slot) < windowMs) return;
      this.#drop(slot);
    }
  }

  /** The id of the first key that begins with the same words. */
  #find(chains: Chains, length: number, now: number): string | null {
    const hash = hashOf(words, 0, length, this.#seeds);
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
    this.#keys.add(this.#hashOf(slot, wordsOfKey), slot);
    this.#signatures.add(this.#hashOf(slot, wordsOfSignature), slot);
  }

  #drop(slot: number): void {
    this.#order.remove(0, slot);
    this.#keys.remove(this.#hashOf(slot, wordsOfKey), slot);
    this.#signatures.remove(this.#hashOf(slot, wordsOfSignature), slot);
    this.#ids[slot] = "";
    this.#free.push(slot);
  }

  #grow(): void {
    const [before, order] = [this.#room, this.#order];
    this.#room = Math.max(firstRoom, 4 * before);
    this.#words = enlarged(this.#words, new Uint32Array(this.#room * wordsOfKey));
    this.#times = enlarged(this.#times, new Float64Array(this.#room));
    for (let slot = this.#room - 1; slot >= before; slot--) this.#free.push(slot);
    crypto.getRandomValues(this.#seeds);
    this.#order = new Chains(this.#room, 2);
    this.#keys = new Chains(this.#room);
    this.#signatures = new Chains(this.#room);
    for (let slot = order.first(0); slot !== none; slot = order.after(slot)) {
      this.#order.add(0, slot);
      this.#link(slot);
    }
  }

  #hashOf(slot: number, length: number): number {
    return hashOf(this.#words, slot * wordsOfKey, length, this.#seeds);
  }

  #timeOf(slot: number): number {
    return this.#times[slot] ?? 0;
  }
}

function enlarged<T extends Uint32Array | Float64Array>(before: T, all: T): T {
  all.set(before);
  return all;
}
