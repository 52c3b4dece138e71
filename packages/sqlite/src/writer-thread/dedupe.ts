import { dayMs } from "@reporthook/core/store";
import type { Statements } from "../database/driver.ts";
import { type Hash, HashTable } from "./hash-table.ts";

/** The answer of the window to a key: ids of deliveries. */
export interface Known {
  readonly duplicateOf?: string;
  readonly sameSignatureAs?: string;
  /** The numbers of those with its signature that may be missing in the index of reused ones. */
  readonly unindexed: readonly number[];
}

/** Nothing is known. */
export const nothingKnown: Known = { unindexed: [] };

/** The number of bytes of a key that are from the signature. */
const signatureBytes = 12;
/** How many of the last deliveries are known: 2^22 signed ones, and the unsigned ones of a day, at most 10 a second. */
const maxKnown = 2 ** 22 + 864_000;
/** How many keys are read from the file at first, and at most: each time twice as many. */
const [leastRead, mostRead] = [2 ** 15, 2 ** 19];

// Joined by SQLite, because a row for each key would take several times as long.
const nextKeys = `
  SELECT count(*) AS count, max(seq) AS last, (SELECT max(seq) FROM delivery) AS newest,
    group_concat(seq) AS numbers, group_concat(hex(substr(key, 1, ${signatureBytes})), '') AS signatures
  FROM (SELECT seq, key FROM delivery INDEXED BY delivery_key
    WHERE seq > ? AND arrived_at > ? AND key IS NOT NULL ORDER BY seq LIMIT ?)`;
const select = "SELECT seq, id, arrived_at, key FROM delivery";
const numbered = `${select} WHERE seq = ? AND key BETWEEN ? AND ?`;
const unreadOnes = `
  ${select} WHERE seq IN (SELECT seq FROM delivery INDEXED BY delivery_key
    WHERE seq > ? AND arrived_at > ? AND key BETWEEN ? AND ? AND key IS NOT NULL) ORDER BY key <> ? LIMIT 1`;
const reused = `${select} INDEXED BY delivery_reused WHERE is_reused IS NOT NULL AND arrived_at > ? AND key`;
const same = `${reused} = ? LIMIT 1`;
const siblings = `${reused} BETWEEN ? AND ? LIMIT 1`;
const index = "UPDATE delivery SET is_reused = 1 WHERE seq = ? AND is_reused IS NULL";

/**
 * The keys of the last 24 hours. A key is a column of its delivery. An index of them would cost as much as the rest of storing a
 * delivery, so a table in memory leads from a signature to the newest delivery that has it. Only if several have it, all
 * of them are in an index. As long as the table lacks some keys of the file, SQL looks for them.
 */
export class DedupeWindow {
  readonly #statement: Statements;
  readonly #writeAdded: () => void;
  readonly #firstRead: number;
  readonly #numbers: HashTable;
  /** The table has the deliveries up to this number. */
  #last: number;
  #isComplete = false;
  #toRead: number;
  /** Before the transaction, which may fail: where the table ended, and the entries that it has replaced since. */
  #before: { readonly last: number; readonly replaced: [hash: Hash, number: number][] };

  /** `writeAdded` writes into the file what was added: it is looked for there. */
  constructor(
    statement: Statements,
    writeAdded: () => void,
    known: number = maxKnown,
    firstRead: number = leastRead,
  ) {
    this.#statement = statement;
    this.#writeAdded = writeAdded;
    this.#firstRead = firstRead;
    this.#toRead = firstRead;
    this.#numbers = new HashTable(known);
    const newest = statement("SELECT max(seq) AS seq FROM delivery").get()?.["seq"];
    this.#last = Math.max(0, Number(newest ?? 0) - known);
    this.#before = { last: this.#last, replaced: [] };
  }

  /** Begins a transaction. */
  begin(): void {
    this.#before = { last: this.#last, replaced: [] };
  }

  /** Undoes the changes of the transaction. */
  rollBack(): void {
    const { last, replaced } = this.#before;
    for (const [hash, number] of replaced.reverse()) this.#numbers.set(hash, number);
    this.#last = last;
    this.catchUp();
  }

  /** Notes that other processes may have stored keys. */
  catchUp(): void {
    if (this.#isComplete) this.#toRead = this.#firstRead;
    this.#isComplete = false;
  }

  find(key: Uint8Array, now: number): Known {
    const since = now - dayMs;
    if (!this.#isComplete) this.#readNext(since);
    const number = this.#numbers.get(hashOf(key));
    if (number === null && this.#isComplete) return nothingKnown;
    this.#writeAdded();
    const from = key.subarray(0, signatureBytes);
    const to = Buffer.concat([from, Buffer.alloc(signatureBytes + 1, 255)]);
    const newest = number === null ? undefined : this.#statement(numbered).get(number, from, to);
    const unread = this.#isComplete
      ? undefined
      : this.#statement(unreadOnes).get(this.#last, since, from, to, key);
    const unindexed = [newest, unread].flatMap((row) => (row ? Number(row["seq"]) : []));
    const within = Number(newest?.["arrived_at"]) > since ? newest : undefined;
    const copy = [within, unread, this.#statement(same).get(since, key)].find(
      (row) => row !== undefined && Buffer.compare(row["key"] as Uint8Array, key) === 0,
    );
    if (copy !== undefined) return { duplicateOf: String(copy["id"]), unindexed };
    const sibling = within ?? unread ?? this.#statement(siblings).get(since, from, to);
    if (sibling === undefined) return { unindexed };
    return { sameSignatureAs: String(sibling["id"]), unindexed };
  }

  /** Adds the key of a delivery that is being stored, about which this is known. */
  add(number: number, key: Uint8Array, { unindexed }: Known): void {
    for (const one of unindexed) this.#statement(index).run(one);
    // Else it is read from the file.
    if (this.#isComplete) this.#put(number, hashOf(key));
  }

  /** Brings the next keys of the file into the table. */
  #readNext(since: number): void {
    this.#writeAdded();
    const row = this.#statement(nextKeys).get(this.#last, since, this.#toRead) ?? {};
    const bytes = Buffer.from(String(row["signatures"] ?? ""), "hex");
    const numbers = String(row["numbers"] ?? "").split(",");
    for (let at = 0; at < bytes.length; at += signatureBytes) {
      this.#put(Number(numbers[at / signatureBytes]), hashOf(bytes, at));
    }
    this.#isComplete = Number(row["count"]) < this.#toRead;
    // The rows after the last key are older than the window.
    this.#last = Math.max(this.#last, Number(row[this.#isComplete ? "newest" : "last"]));
    this.#toRead = Math.min(2 * this.#toRead, mostRead);
  }

  #put(number: number, hash: Hash): void {
    const replaced = this.#numbers.get(hash);
    if (replaced !== null) this.#before.replaced.push([hash, replaced]);
    this.#numbers.set(hash, number);
    this.#last = number;
  }
}

/** The hash of the signature that is at this place. */
function hashOf(bytes: Uint8Array, at = 0): Hash {
  return [(wordAt(bytes, at) ^ wordAt(bytes, at + 8)) >>> 0, wordAt(bytes, at + 4)];
}

// A DataView would cost as much as the search.
function wordAt(bytes: Uint8Array, at: number): number {
  let word = 0;
  for (let index = at; index < at + 4; index++) word = (word << 8) | (bytes[index] ?? 0);
  return word >>> 0;
}
