import type { Database, Statement } from "../../database/driver.ts";
import { signatureBytes } from "./generation.ts";

/** The index of the keys that do not fit in memory: their numbers. */
export class KeyIndex {
  readonly #exact: Statement;
  readonly #sibling: Statement;
  readonly #insert: Statement;
  readonly #delete: Statement;
  readonly #any: Statement;
  /** Whether there may be keys: an empty index is not queried. */
  #isUsed = false;

  constructor(database: Database) {
    const select = "SELECT seq FROM seen_before";
    this.#exact = database.prepare(`${select} WHERE key = ?`);
    this.#sibling = database.prepare(`${select} WHERE key >= ? AND key < ? LIMIT 1`);
    this.#any = database.prepare(`${select} LIMIT 1`);
    this.#delete = database.prepare("DELETE FROM seen_before WHERE key = ?");
    this.#insert = database.prepare("REPLACE INTO seen_before (key, seq) VALUES (?, ?)");
  }

  /** Checks whether other processes use it. */
  catchUp(): void {
    this.#isUsed ||= this.#any.get() !== undefined;
  }

  /** The number of a key. */
  get(key: Uint8Array): number | null {
    return this.#seqOf(this.#exact, key);
  }

  /** The number of a key with the same signature. */
  sibling(key: Uint8Array): number | null {
    const from = new Uint8Array(key.length);
    const to = new Uint8Array(key.length).fill(255);
    for (const end of [from, to]) end.set(key.subarray(0, signatureBytes));
    return this.#seqOf(this.#sibling, from, to);
  }

  add(key: Uint8Array, seq: number): void {
    this.#insert.run(key, seq);
    this.#isUsed = true;
  }

  delete(key: Uint8Array): void {
    if (this.#isUsed) this.#delete.run(key);
  }

  #seqOf(statement: Statement, ...keys: Uint8Array[]): number | null {
    const row = this.#isUsed ? statement.get(...keys) : undefined;
    return row === undefined ? null : Number(row["seq"]);
  }
}
