import type { Database, Row, Statement } from "../../database/driver.ts";

/** A key of the dedupe window. */
export interface StoredKey {
  readonly seq: number;
  readonly id: string;
  /** Its arrival, in milliseconds since the epoch. */
  readonly at: number;
  readonly key: Uint8Array;
}

/** The keys of the row that may hold a number, and the last number before them: numbers in between are in the row, or deleted. */
export interface KeysAround {
  readonly after: number;
  readonly keys: readonly StoredKey[];
}

/** The keys of one row of the file. */
export interface KeyRow {
  /** The primary key of the row: its greatest number. */
  readonly last: number;
  readonly keys: readonly StoredKey[];
}

const maxOfRow = 256;
const columns = "last, number, seqs, ids, times, keys";

/**
 * The keys in the file, in order of arrival. The keys of one transaction are one row: a row for each would cost half as much as
 * the deliveries.
 */
export class KeyTable {
  readonly #holding: Statement;
  readonly #lastBelow: Statement;
  readonly #after: Statement;
  readonly #insert: Statement;
  readonly #replace: Statement;
  readonly #delete: Statement;
  readonly #deleteTo: Statement;
  readonly #newest: Statement;

  constructor(database: Database) {
    const one = `SELECT ${columns} FROM seen WHERE`;
    this.#holding = database.prepare(`${one} last >= ? ORDER BY last LIMIT 1`);
    this.#lastBelow = database.prepare(
      "SELECT last FROM seen WHERE last < ? ORDER BY last DESC LIMIT 1",
    );
    this.#after = database.prepare(`${one} last > ? ORDER BY last LIMIT 1`);
    this.#insert = database.prepare(`INSERT INTO seen (${columns}) VALUES (?, ?, ?, ?, ?, ?)`);
    this.#replace = database.prepare(`REPLACE INTO seen (${columns}) VALUES (?, ?, ?, ?, ?, ?)`);
    this.#delete = database.prepare("DELETE FROM seen WHERE last = ?");
    this.#deleteTo = database.prepare("DELETE FROM seen WHERE last <= ?");
    this.#newest = database.prepare(
      `SELECT last FROM (SELECT last, sum(number) OVER (ORDER BY last DESC) AS held FROM seen)
       WHERE held >= ? ORDER BY last DESC LIMIT 1`,
    );
  }

  /** The key with this number. */
  get(seq: number): StoredKey | undefined {
    return this.#rowOf(seq)?.keys.find((seen) => seen.seq === seq);
  }

  /** The keys around a number, to check many that may be deleted. */
  around(seq: number): KeysAround {
    const after = Number(this.#lastBelow.get(seq)?.["last"] ?? 0);
    return { after, keys: this.#rowOf(seq)?.keys ?? [] };
  }

  /** The first row beyond `last`. */
  next(last: number): KeyRow | undefined {
    return rowOf(this.#after.get(last));
  }

  /** The row in which the newest keys begin, if there are this many. */
  newest(number: number): KeyRow | undefined {
    const row = this.#newest.get(number);
    return row === undefined ? undefined : this.#rowOf(Number(row["last"]));
  }

  /** Stores keys, in the order of their numbers and beyond all that are stored. */
  add(keys: readonly StoredKey[]): void {
    for (let from = 0; from < keys.length; from += maxOfRow) {
      this.#write(this.#insert, keys.slice(from, from + maxOfRow));
    }
  }

  /** Deletes the key with this number; returns it. */
  delete(seq: number): StoredKey | undefined {
    const row = this.#rowOf(seq);
    const seen = row?.keys.find((one) => one.seq === seq);
    if (row === undefined || seen === undefined) return undefined;
    const others = row.keys.filter((one) => one !== seen);
    if (others.length === 0) this.#delete.run(row.last);
    else this.#write(this.#replace, others, row.last);
    return seen;
  }

  /** Deletes all rows up to `last`. */
  deleteTo(last: number): void {
    this.#deleteTo.run(last);
  }

  #rowOf(seq: number): KeyRow | undefined {
    return rowOf(this.#holding.get(seq));
  }

  #write(statement: Statement, keys: readonly StoredKey[], last = keys.at(-1)?.seq ?? 0): void {
    const texts = [
      keys.map(({ seq }) => seq).join(),
      keys.map(({ id }) => id).join(),
      keys.map(({ at }) => at).join(),
    ];
    statement.run(last, keys.length, ...texts, Buffer.concat(keys.map(({ key }) => key)));
  }
}

function rowOf(row: Row | undefined): KeyRow | undefined {
  if (row === undefined) return undefined;
  const ids = String(row["ids"]).split(",");
  const times = String(row["times"]).split(",");
  const bytes = row["keys"] as Uint8Array;
  const size = bytes.length / ids.length;
  const keys = String(row["seqs"])
    .split(",")
    .map((seq, index) => ({
      seq: Number(seq),
      id: ids[index] ?? "",
      at: Number(times[index]),
      key: bytes.subarray(index * size, (index + 1) * size),
    }));
  return { last: Number(row["last"]), keys };
}
