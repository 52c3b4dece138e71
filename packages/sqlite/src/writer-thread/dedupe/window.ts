import { dayMs } from "@reporthook/core/store";
import type { Database } from "../../database/driver.ts";
import { lastNumber } from "../counters.ts";
import {
  type Generation,
  generationSize,
  hashesOf,
  newGeneration,
  signatureBytes,
} from "./generation.ts";
import type { Hash } from "./hash-table.ts";
import { KeyIndex } from "./key-index.ts";
import { type KeysAround, KeyTable, type StoredKey } from "./key-table.ts";

/** The answer of the window to a key: ids of deliveries. */
export interface Known {
  readonly duplicateOf?: string;
  readonly sameSignatureAs?: string;
}

/** The part of a window that a failed transaction restores. */
interface Memory {
  /** The last number that is known. */
  last: number;
  /** The last number of the old generation that is in the index. */
  settled: number;
  young: Generation;
  old: Generation | null;
}

/** A key that replaced another one as the newest of its signature. */
interface Displaced {
  readonly generation: Generation;
  readonly signature: Hash;
  readonly before: number;
}

/** The keys that a generation holds in memory before the next begins. */
const generationKeys = 2 ** 20;
/** The maximum number of keys that one transaction adds to the index. */
const maxSettled = 8_000;

/**
 * The keys of the last 24 hours. A random key in an index of the file costs as much as the rest of storing a delivery. So the
 * newest one to two million keys are found through memory, and only older ones through an index.
 */
export class DedupeWindow {
  readonly #perGeneration: number;
  readonly #table: KeyTable;
  readonly #index: KeyIndex;
  #memory: Memory;
  /** The memory before the running transaction. */
  #before: Memory;
  /** The number of keys of other processes since the index was last updated. */
  #caughtUp = 0;
  /** By number. A new map for each transaction: V8 would keep the tables of a cleared one. */
  #unwritten = new Map<number, StoredKey>();
  /** The keys that the running transaction has deleted, by number. */
  #forgotten = new Map<number, StoredKey>();
  #displaced: Displaced[] = [];

  constructor(database: Database, perGeneration: number = generationKeys) {
    this.#perGeneration = perGeneration;
    this.#table = new KeyTable(database);
    this.#index = new KeyIndex(database);
    // Read before the keys: one that is stored in between is caught up.
    const last = lastNumber(database);
    const first = this.#beforeHeld() ?? last;
    this.#memory = { last: first, settled: first, young: newGeneration(first), old: null };
    this.catchUp();
    // Existing keys are added to the index as more come, not all at once.
    this.#caughtUp = 0;
    this.#before = this.#memory;
  }

  /** Begins a transaction. */
  begin(): void {
    this.#before = { ...this.#memory };
    this.#forgotten = new Map();
    this.#displaced = [];
  }

  /** Undoes the changes of the transaction. */
  rollBack(): void {
    this.#memory = this.#before;
    this.#unwritten = new Map();
    for (const { generation, signature, before } of this.#displaced.reverse()) {
      generation.newest.set(signature, before);
    }
    // Its copy may have replaced it.
    for (const { seq, key } of this.#forgotten.values()) {
      const generation = this.#generations().find(({ after }) => after < seq);
      generation?.others.set(hashesOf(key).whole, seq);
    }
    this.begin();
  }

  /** Deletes a key, so that its copy is new. */
  forget(seq: number): void {
    if (this.#unwritten.delete(seq)) return;
    const stored = this.#table.delete(seq);
    if (stored === undefined) return;
    this.#index.delete(stored.key);
    this.#forgotten.set(seq, stored);
  }

  /** Reads the keys that other processes have stored. */
  catchUp(): void {
    for (;;) {
      const row = this.#table.next(this.#memory.last);
      if (row === undefined) break;
      for (const { seq, key } of row.keys) this.#remember(seq, key);
      this.#memory.last = row.last;
      this.#caughtUp += row.keys.length;
    }
    this.#index.catchUp();
  }

  find(key: Uint8Array, now: number): Known {
    const { whole, signature } = hashesOf(key);
    const within = (stored: StoredKey | undefined): stored is StoredKey =>
      stored !== undefined && now - stored.at < dayMs;
    let sibling: StoredKey | undefined;
    for (const generation of this.#generations()) {
      const newest = this.#newest(generation, signature, key);
      if (newest === undefined) continue;
      for (const stored of [newest, this.#confirm(generation.others.get(whole))]) {
        if (within(stored) && equal(stored.key, key, key.length)) return { duplicateOf: stored.id };
      }
      if (within(newest)) sibling ??= newest;
    }
    const same = this.#confirm(this.#index.get(key));
    if (within(same)) return { duplicateOf: same.id };
    sibling ??= this.#confirm(this.#index.sibling(key));
    return within(sibling) ? { sameSignatureAs: sibling.id } : {};
  }

  /** Adds a key; {@link write} stores it. */
  add(seq: number, id: string, at: number, key: Uint8Array): void {
    this.#unwritten.set(seq, { seq, id, at, key });
    this.#remember(seq, key);
  }

  /** Writes the added keys. */
  write(): void {
    const keys = this.#unwritten.size + this.#caughtUp;
    if (keys === 0) return;
    this.#table.add([...this.#unwritten.values()]);
    this.#unwritten = new Map();
    this.#caughtUp = 0;
    if (this.#memory.old !== null && generationSize(this.#memory.young) * 2 > this.#perGeneration) {
      this.#settle(Math.min(4 * keys, maxSettled));
    }
  }

  /** Deletes keys that are older than the window, about `limit` of them; returns whether there are more. */
  prune(now: number, limit: number): boolean {
    let [deleted, to] = [0, 0];
    let row = this.#table.next(to);
    const isOver = ({ at }: StoredKey): boolean => now - at >= dayMs;
    while (row !== undefined && deleted < limit && row.keys.every(isOver)) {
      for (const { key } of row.keys) this.#index.delete(key);
      deleted += row.keys.length;
      to = row.last;
      row = this.#table.next(to);
    }
    if (deleted > 0) this.#table.deleteTo(to);
    return deleted >= limit && row !== undefined;
  }

  #remember(seq: number, key: Uint8Array): void {
    if (generationSize(this.#memory.young) >= this.#perGeneration) this.#nextGeneration();
    const generation = this.#memory.young;
    const { newest, others, before } = generation;
    const { signature } = hashesOf(key);
    const displaced = newest.get(signature);
    if (displaced !== null) {
      const stored = this.#confirm(displaced);
      if (stored !== undefined) others.set(hashesOf(stored.key).whole, displaced);
      before.set(seq, displaced);
      this.#displaced.push({ generation, signature, before: displaced });
    }
    newest.set(signature, seq);
    this.#memory.last = Math.max(this.#memory.last, seq);
  }

  /** Begins a new generation once the one before the last is in the index. */
  #nextGeneration(): void {
    if (this.#memory.old !== null && this.#memory.settled < this.#memory.young.after) return;
    this.#memory.old = this.#memory.young;
    this.#memory.settled = this.#memory.old.after;
    this.#memory.young = newGeneration(this.#memory.last);
  }

  /** Adds the next keys of the old generation to the index, about `limit` of them. */
  #settle(limit: number): void {
    const end = this.#memory.young.after;
    for (let left = limit; left > 0 && this.#memory.settled < end; ) {
      const row = this.#table.next(this.#memory.settled);
      // The row in which the next generation begins holds the last keys of this one.
      for (const { seq, key } of row?.keys ?? []) {
        if (seq > this.#memory.settled && seq <= end) this.#index.add(key, seq);
      }
      left -= row?.keys.length ?? 0;
      this.#memory.settled = Math.min(end, row?.last ?? end);
    }
  }

  #generations(): readonly Generation[] {
    const { young, old } = this.#memory;
    return old === null ? [young] : [young, old];
  }

  /** The newest existing key with the signature of `key`. Deleted ones after it are skipped from now on. */
  #newest({ newest, before }: Generation, signature: Hash, key: Uint8Array): StoredKey | undefined {
    let seq = newest.get(signature);
    let around: KeysAround | undefined;
    let isHead = true;
    while (seq !== null) {
      // There may be a day's worth of deleted ones: each range of the file is read once.
      if (around === undefined || seq <= around.after) around = this.#table.around(seq);
      const stored = this.#unwritten.get(seq) ?? around.keys.find((one) => one.seq === seq);
      if (stored !== undefined && equal(stored.key, key, signatureBytes)) return stored;
      const next = before.get(seq);
      // A number that was rolled back belongs to another delivery now.
      if (next === undefined || next >= seq) return undefined;
      // A deletion of this transaction may be rolled back, and another signature may begin like this one.
      isHead &&= stored === undefined && !this.#forgotten.has(seq);
      if (isHead) newest.set(signature, next);
      seq = next;
    }
    return undefined;
  }

  #confirm(seq: number | null): StoredKey | undefined {
    return seq === null ? undefined : (this.#unwritten.get(seq) ?? this.#table.get(seq));
  }

  /** The number before the first key that is held in memory at the start. */
  #beforeHeld(): number | undefined {
    const row = this.#table.newest(2 * this.#perGeneration) ?? this.#table.next(0);
    const first = row?.keys[0];
    return first && first.seq - 1;
  }
}

function equal(one: Uint8Array, other: Uint8Array, bytes: number): boolean {
  return Buffer.compare(one.subarray(0, bytes), other.subarray(0, bytes)) === 0;
}
