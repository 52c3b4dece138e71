import { dayMs } from "@reporthook/core/store";
import { lastNumber } from "./deliveries.ts";
import type { Database, Statement } from "./driver.ts";
import { ManyRows } from "./many-rows.ts";
import { RecentKeys } from "./recent-keys.ts";

/** What is known of a key. */
export interface Seen {
  readonly duplicateOf?: string;
  readonly sameSignatureAs?: string;
}

interface SeenRow {
  readonly seq: number;
  readonly id: string;
  readonly at: number;
  readonly key: Uint8Array;
}

/** The keys of one generation, whole and by their signature's half. */
export interface Generation {
  /** The last number before it. */
  readonly after: number;
  readonly keys: RecentKeys;
  readonly signatures: RecentKeys;
}

/** What a transaction changes of a window, besides the file. */
export interface WindowState {
  readonly last: number;
  readonly settled: number;
  readonly young: Generation;
  readonly old: Generation | null;
}

/** How many keys a generation holds in memory before the next begins. */
const generationKeys = 2 ** 20;
const signatureBytes = 12;

/**
 * The keys of the last 24 hours. A random key in an index of the file costs as much as all the rest of storing a
 * delivery, so the newest million or two are found through memory, and only those before them through an index.
 */
export class DedupeWindow {
  readonly #database: Database;
  readonly #perGeneration: number;
  readonly #one: Statement;
  readonly #exactlyBefore: Statement;
  readonly #siblingBefore: Statement;
  readonly #insert: ManyRows;
  readonly #forget: Statement;
  readonly #forgetBefore: Statement;
  #young: Generation;
  #old: Generation | null = null;
  /** How far the old generation has been brought into the index. */
  #settled = 0;
  #hasBefore: boolean;
  #last = 0;
  readonly #unwritten = new Map<number, SeenRow>();

  constructor(database: Database, perGeneration: number = generationKeys) {
    this.#database = database;
    this.#perGeneration = perGeneration;
    this.#one = database.prepare("SELECT seq, id, at, key FROM seen WHERE seq = ?");
    const before =
      "SELECT s.seq, s.id, s.at, s.key FROM seen_before b JOIN seen s ON s.seq = b.seq";
    this.#exactlyBefore = database.prepare(`${before} WHERE b.key = ?`);
    this.#siblingBefore = database.prepare(`${before} WHERE b.key >= ? AND b.key < ? LIMIT 1`);
    this.#insert = new ManyRows(database, "seen", ["seq", "id", "at", "key"]);
    this.#forget = database.prepare("DELETE FROM seen WHERE seq = ?");
    this.#forgetBefore = database.prepare(
      "DELETE FROM seen_before WHERE key = (SELECT key FROM seen WHERE seq = ?)",
    );
    const first = this.#firstHeld();
    this.#young = generation(first);
    this.#last = first;
    this.#settled = first;
    this.#hasBefore = database.prepare("SELECT seq FROM seen_before LIMIT 1").get() !== undefined;
    this.catchUp();
  }

  /** What a transaction that fails has to put back. */
  get state(): WindowState {
    return { last: this.#last, settled: this.#settled, young: this.#young, old: this.#old };
  }

  set state({ last, settled, young, old }: WindowState) {
    this.#insert.clear();
    this.#unwritten.clear();
    this.#last = last;
    this.#settled = settled;
    this.#young = young;
    this.#old = old;
  }

  /** Deletes a key, so that its copy is new. */
  forget(seq: number): void {
    if (this.#hasBefore) this.#forgetBefore.run(seq);
    this.#forget.run(seq);
  }

  /** Takes in what other processes have stored. */
  catchUp(): void {
    // Many in one row: a million rows would take seconds.
    const page = this.#database.prepare(
      `SELECT group_concat(seq) AS seqs, group_concat(at) AS times, group_concat(hex(key), '') AS keys
       FROM (SELECT seq, at, key FROM seen WHERE seq > ? ORDER BY seq LIMIT 2000)`,
    );
    for (;;) {
      const { seqs, times, keys } = page.get(this.#last) ?? {};
      if (typeof seqs !== "string") return;
      const bytes = Buffer.from(String(keys), "hex");
      const numbers = seqs.split(",");
      const at = String(times).split(",");
      const size = bytes.length / numbers.length;
      for (const [index, seq] of numbers.entries()) {
        const key = bytes.subarray(index * size, (index + 1) * size);
        this.#remember(Number(seq), key, Number(at[index]));
      }
    }
  }

  look(key: Uint8Array, now: number): Seen {
    const { whole, signature } = hashesOf(key);
    const within = (row: SeenRow | undefined): row is SeenRow =>
      row !== undefined && now - row.at < dayMs;
    for (const { keys } of this.#generations()) {
      const row = this.#confirm(keys.get(...whole));
      if (within(row) && equal(row.key, key, key.length)) return { duplicateOf: row.id };
    }
    const same = this.#hasBefore ? this.#exactlyBefore.get(key) : undefined;
    if (within(same as SeenRow | undefined)) return { duplicateOf: String(same?.["id"]) };
    for (const { signatures } of this.#generations()) {
      const row = this.#confirm(signatures.get(...signature));
      if (within(row) && equal(row.key, key, signatureBytes)) return { sameSignatureAs: row.id };
    }
    const sibling = this.#hasBefore ? this.#siblingBefore.get(...siblingsOf(key)) : undefined;
    return within(sibling as SeenRow | undefined)
      ? { sameSignatureAs: String(sibling?.["id"]) }
      : {};
  }

  /** Takes a key in; it is in the file once {@link write} was called. */
  add(seq: number, id: string, at: number, key: Uint8Array): void {
    this.#insert.add(seq, id, at, key);
    this.#unwritten.set(seq, { seq, id, at, key });
    this.#remember(seq, key, at);
  }

  /** Writes the keys that were taken in. */
  write(): void {
    const { size } = this.#unwritten;
    if (size === 0) return;
    this.#insert.write();
    this.#unwritten.clear();
    if (this.#old !== null && this.#young.keys.size * 2 > this.#perGeneration) {
      this.#settle(4 * size);
    }
  }

  /** Deletes at most `limit` keys that are older than the window; returns whether there are more. */
  prune(now: number, limit: number): boolean {
    const oldest = this.#database
      .prepare("SELECT seq, at FROM seen ORDER BY seq LIMIT ?")
      .all(limit) as unknown as SeenRow[];
    // What came more than a day from now came while the clock was set wrong.
    const over = oldest.findIndex(({ at }) => Math.abs(now - at) < dayMs);
    const last = oldest[over === -1 ? oldest.length - 1 : over - 1];
    if (last === undefined) return false;
    if (this.#hasBefore) {
      this.#database
        .prepare("DELETE FROM seen_before WHERE key IN (SELECT key FROM seen WHERE seq <= ?)")
        .run(last.seq);
    }
    this.#database.prepare("DELETE FROM seen WHERE seq <= ?").run(last.seq);
    return over === -1;
  }

  #remember(seq: number, key: Uint8Array, at: number): void {
    if (this.#young.keys.size >= this.#perGeneration) this.#turn();
    const { whole, signature } = hashesOf(key);
    const { keys, signatures } = this.#young;
    keys.set(...whole, seq);
    // The earliest keeps its place as long as it is there to be named.
    const earlier = this.#confirm(signatures.get(...signature));
    const isNamed =
      earlier !== undefined && equal(earlier.key, key, signatureBytes) && at - earlier.at < dayMs;
    if (!isNamed) signatures.set(...signature, seq);
    this.#last = Math.max(this.#last, seq);
  }

  /** A new generation begins, once the one before the last is found through the index. */
  #turn(): void {
    if (this.#old !== null && this.#settled < this.#young.after) return;
    this.#old = this.#young;
    this.#settled = this.#old.after;
    this.#young = generation(this.#last);
  }

  /** Brings the next keys of the old generation into the index. */
  #settle(limit: number): void {
    const end = this.#young.after;
    if (this.#settled >= end) return;
    const rows = this.#database
      .prepare("SELECT seq FROM seen WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?")
      .all(this.#settled, end, limit);
    const last = rows.length < limit ? end : Number(rows.at(-1)?.["seq"]);
    this.#hasBefore = true;
    this.#database
      .prepare(
        "INSERT OR REPLACE INTO seen_before (key, seq) SELECT key, seq FROM seen WHERE seq > ? AND seq <= ?",
      )
      .run(this.#settled, last);
    this.#settled = last;
  }

  #generations(): readonly Generation[] {
    return this.#old === null ? [this.#young] : [this.#young, this.#old];
  }

  #confirm(seq: number | null): SeenRow | undefined {
    if (seq === null) return undefined;
    return this.#unwritten.get(seq) ?? (this.#one.get(seq) as SeenRow | undefined);
  }

  /** The number before the first key that is held in memory at the start. */
  #firstHeld(): number {
    const newest = this.#database
      .prepare("SELECT seq FROM seen ORDER BY seq DESC LIMIT 1 OFFSET ?")
      .get(2 * this.#perGeneration - 1);
    const first = this.#database
      .prepare("SELECT seq, at FROM seen WHERE seq >= ? ORDER BY seq LIMIT 1")
      .get(Number(newest?.["seq"] ?? 0));
    return first === undefined ? lastNumber(this.#database) : Number(first["seq"]) - 1;
  }
}

function generation(after: number): Generation {
  return { after, keys: new RecentKeys(after), signatures: new RecentKeys(after) };
}

type Hash = readonly [high: number, low: number];

function hashesOf(key: Uint8Array): { readonly whole: Hash; readonly signature: Hash } {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  const [one, two] = [view.getUint32(0), view.getUint32(4)];
  const half = signatureBytes;
  const whole: Hash = [(one ^ view.getUint32(half)) >>> 0, (two ^ view.getUint32(half + 4)) >>> 0];
  return { whole, signature: [one, two] };
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
