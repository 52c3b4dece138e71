import { dayMs } from "@reporthook/core/store";
import type { Database, Statement } from "../../database/driver.ts";
import { asGiven, ManyRows } from "../bulk-insert.ts";
import { lastNumber } from "../counters.ts";
import {
  type Generation,
  type Hash,
  hashesOf,
  hashOfNumber,
  newGeneration,
  signatureBytes,
  sizeOf,
} from "./generation.ts";
import { type Seen, type SeenAround, SeenKeys } from "./key-table.ts";

/** What is known of a key. */
export interface Known {
  readonly duplicateOf?: string;
  readonly sameSignatureAs?: string;
}

/** What a transaction changes of a window, besides the file. */
interface WindowState {
  readonly last: number;
  readonly settled: number;
  readonly young: Generation;
  readonly old: Generation | null;
}

/** A key that took another's place as the newest of its signature. */
interface Displaced {
  readonly generation: Generation;
  readonly signature: Hash;
  readonly before: number;
}

/** How many keys a generation holds in memory before the next begins. */
const generationKeys = 2 ** 20;
/** At most so many are brought into the index in one transaction, whatever came from others. */
const mostSettled = 8_000;

/**
 * The keys of the last 24 hours. A random key in an index of the file costs as much as all the rest of storing a
 * delivery, so the newest million or two are found through memory, and only those before them through an index.
 */
export class DedupeWindow {
  readonly #perGeneration: number;
  readonly #seen: SeenKeys;
  readonly #exactlyBefore: Statement;
  readonly #siblingBefore: Statement;
  readonly #insertBefore: ManyRows;
  readonly #forgetBefore: Statement;
  readonly #anyBefore: Statement;
  #young: Generation;
  #old: Generation | null = null;
  /** How far the old generation has been brought into the index. */
  #settled = 0;
  #hasBefore = false;
  #last = 0;
  /** How many keys of other processes came since the index was looked after. */
  #caughtUp = 0;
  /** Made anew for each transaction: what was cleared would live as long as what V8 keeps of its tables. */
  #unwritten = new Map<number, Seen>();
  /** What the transaction that runs has deleted, by its number. */
  #forgotten = new Map<number, Seen>();
  /** And what it has put in the place of others. */
  #displaced: Displaced[] = [];
  #began: WindowState;

  constructor(database: Database, perGeneration: number = generationKeys) {
    this.#perGeneration = perGeneration;
    this.#seen = new SeenKeys(database);
    const before = "SELECT seq FROM seen_before WHERE";
    this.#exactlyBefore = database.prepare(`${before} key = ?`);
    this.#siblingBefore = database.prepare(`${before} key >= ? AND key < ? LIMIT 1`);
    this.#insertBefore = new ManyRows(database, {
      into: "REPLACE INTO seen_before",
      own: ["key", "seq"],
      columns: asGiven("key", "seq"),
    });
    this.#forgetBefore = database.prepare("DELETE FROM seen_before WHERE key = ?");
    this.#anyBefore = database.prepare("SELECT seq FROM seen_before LIMIT 1");
    const first = this.#beforeHeld() ?? lastNumber(database);
    this.#young = newGeneration(first);
    this.#last = first;
    this.#settled = first;
    this.catchUp();
    // What was there before is brought into the index as more comes, not at once.
    this.#caughtUp = 0;
    this.#began = this.#state;
  }

  get #state(): WindowState {
    return { last: this.#last, settled: this.#settled, young: this.#young, old: this.#old };
  }

  /** A transaction begins. */
  begin(): void {
    this.#began = this.#state;
    this.#forgotten = new Map();
    this.#displaced = [];
  }

  /** It has failed: nothing that was done since it began is in the file. */
  rollBack(): void {
    const { last, settled, young, old } = this.#began;
    this.#unwritten = new Map();
    this.#last = last;
    this.#settled = settled;
    this.#young = young;
    this.#old = old;
    for (const { generation, signature, before } of this.#displaced.reverse()) {
      generation.newest.set(...signature, before);
    }
    // Its place may have gone to its copy.
    for (const { seq, key } of this.#forgotten.values()) {
      this.#generations()
        .find(({ after }) => after < seq)
        ?.others.set(...hashesOf(key).whole, seq);
    }
    this.begin();
  }

  /** Deletes a key, so that its copy is new. */
  forget(seq: number): void {
    if (this.#unwritten.delete(seq)) return;
    const seen = this.#seen.delete(seq);
    if (seen === undefined) return;
    if (this.#hasBefore) this.#forgetBefore.run(seen.key);
    this.#forgotten.set(seq, seen);
  }

  /** Takes in what other processes have stored. */
  catchUp(): void {
    for (;;) {
      const row = this.#seen.next(this.#last);
      if (row === undefined) break;
      for (const { seq, key } of row.keys) this.#remember(seq, key);
      this.#last = row.last;
      this.#caughtUp += row.keys.length;
    }
    this.#hasBefore ||= this.#anyBefore.get() !== undefined;
  }

  look(key: Uint8Array, now: number): Known {
    const { whole, signature } = hashesOf(key);
    const within = (seen: Seen | undefined): seen is Seen =>
      seen !== undefined && now - seen.at < dayMs;
    let sibling: Seen | undefined;
    for (const generation of this.#generations()) {
      const newest = this.#newest(generation, signature, key);
      if (newest === undefined) continue;
      for (const seen of [newest, this.#confirm(generation.others.get(...whole))]) {
        if (within(seen) && equal(seen.key, key, key.length)) return { duplicateOf: seen.id };
      }
      if (within(newest)) sibling ??= newest;
    }
    const same = this.#hasBefore ? this.#before(this.#exactlyBefore, key) : undefined;
    if (within(same)) return { duplicateOf: same.id };
    if (sibling === undefined && this.#hasBefore) {
      sibling = this.#before(this.#siblingBefore, ...siblingsOf(key));
    }
    return within(sibling) ? { sameSignatureAs: sibling.id } : {};
  }

  /** Takes a key in; it is in the file once {@link write} was called. */
  add(seq: number, id: string, at: number, key: Uint8Array): void {
    this.#unwritten.set(seq, { seq, id, at, key });
    this.#remember(seq, key);
  }

  /** Writes the keys that were taken in. */
  write(): void {
    const keys = this.#unwritten.size + this.#caughtUp;
    if (keys === 0) return;
    this.#seen.add([...this.#unwritten.values()]);
    this.#unwritten = new Map();
    this.#caughtUp = 0;
    if (this.#old !== null && sizeOf(this.#young) * 2 > this.#perGeneration) {
      this.#settle(Math.min(4 * keys, mostSettled));
    }
  }

  /** Deletes keys that are older than the window, about `limit` of them; returns whether there are more. */
  prune(now: number, limit: number): boolean {
    let [deleted, to] = [0, 0];
    let row = this.#seen.next(to);
    // What came more than a day from now came while the clock was set wrong.
    const isOver = ({ at }: Seen): boolean => Math.abs(now - at) >= dayMs;
    while (row !== undefined && deleted < limit && row.keys.every(isOver)) {
      if (this.#hasBefore) for (const { key } of row.keys) this.#forgetBefore.run(key);
      deleted += row.keys.length;
      to = row.last;
      row = this.#seen.next(to);
    }
    if (deleted > 0) this.#seen.deleteTo(to);
    return deleted >= limit && row !== undefined;
  }

  #remember(seq: number, key: Uint8Array): void {
    if (sizeOf(this.#young) >= this.#perGeneration) this.#turn();
    const generation = this.#young;
    const { newest, others, before } = generation;
    const { signature } = hashesOf(key);
    const displaced = newest.get(...signature);
    if (displaced !== null) {
      const seen = this.#confirm(displaced);
      if (seen !== undefined) others.set(...hashesOf(seen.key).whole, displaced);
      before.set(...hashOfNumber(seq), displaced);
      this.#displaced.push({ generation, signature, before: displaced });
    }
    newest.set(...signature, seq);
    this.#last = Math.max(this.#last, seq);
  }

  /** A new generation begins, once the one before the last is found through the index. */
  #turn(): void {
    if (this.#old !== null && this.#settled < this.#young.after) return;
    this.#old = this.#young;
    this.#settled = this.#old.after;
    this.#young = newGeneration(this.#last);
  }

  /** Brings the next keys of the old generation into the index, about `limit` of them. */
  #settle(limit: number): void {
    const end = this.#young.after;
    let left = limit;
    while (left > 0 && this.#settled < end) {
      const row = this.#seen.next(this.#settled);
      // The row in which the next generation begins holds the last keys of this one.
      for (const { seq, key } of row?.keys ?? []) {
        if (seq > this.#settled && seq <= end) this.#insertBefore.add(key, seq);
      }
      left -= row?.keys.length ?? 0;
      this.#settled = Math.min(end, row?.last ?? end);
      this.#hasBefore = true;
    }
    this.#insertBefore.write();
  }

  #generations(): readonly Generation[] {
    return this.#old === null ? [this.#young] : [this.#young, this.#old];
  }

  /** The newest with the signature of `key` that is there. Those after it, which are gone, are not met again. */
  #newest({ newest, before }: Generation, signature: Hash, key: Uint8Array): Seen | undefined {
    let seq = newest.get(...signature);
    let around: SeenAround | undefined;
    let isHead = true;
    while (seq !== null) {
      // There may be as many as came in a day, and are gone: what the file holds around one, it is asked once.
      if (around === undefined || seq <= around.after) around = this.#seen.around(seq);
      const at = seq;
      const seen = this.#unwritten.get(at) ?? around.keys.find((one) => one.seq === at);
      if (seen !== undefined && equal(seen.key, key, signatureBytes)) return seen;
      const next = before.get(...hashOfNumber(seq));
      // A number that was rolled back is another's now.
      if (next === null || next >= seq) return undefined;
      // What this transaction has deleted may come back, and another signature begin like this one.
      isHead &&= seen === undefined && !this.#forgotten.has(seq);
      if (isHead) newest.set(...signature, next);
      seq = next;
    }
    return undefined;
  }

  #confirm(seq: number | null): Seen | undefined {
    if (seq === null) return undefined;
    return this.#unwritten.get(seq) ?? this.#seen.get(seq);
  }

  #before(statement: Statement, ...keys: Uint8Array[]): Seen | undefined {
    const row = statement.get(...keys);
    return row === undefined ? undefined : this.#seen.get(Number(row["seq"]));
  }

  /** The number before the first key that is held in memory at the start. */
  #beforeHeld(): number | undefined {
    const row = this.#seen.newest(2 * this.#perGeneration) ?? this.#seen.next(0);
    const [first] = row?.keys ?? [];
    return first === undefined ? undefined : first.seq - 1;
  }
}

/** The range of keys with the same signature. */
function siblingsOf(key: Uint8Array): [Uint8Array, Uint8Array] {
  const from = new Uint8Array(key.length);
  const to = new Uint8Array(key.length).fill(255);
  from.set(key.subarray(0, signatureBytes));
  to.set(key.subarray(0, signatureBytes));
  return [from, to];
}

function equal(one: Uint8Array, other: Uint8Array, bytes: number): boolean {
  return Buffer.compare(one.subarray(0, bytes), other.subarray(0, bytes)) === 0;
}
