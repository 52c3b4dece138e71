import { addCounts, timeOf } from "@reporthook/core/store";
import type { Database, Statements } from "../database/driver.ts";
import {
  type ChangedTallies,
  countIn,
  everName,
  everReceiver,
  newestName,
  type Tally,
} from "../protocol/counts.ts";
import { RowWriter } from "./row-writer.ts";

/** The receivers in the file: their ids, in place of their names in rows and indexes, and their tallies. */
export class ReceiverTable {
  readonly #statement: Statements;
  readonly #put: RowWriter;
  #ids = new Map<string, number>();
  #names = new Map<number, string>();
  #tallies = new Map<number, Record<string, number>>();
  /** The ids whose tallies this transaction has changed, and those that have changed since {@link takeTallies}. */
  #unwritten = new Set<number>();
  #untold = new Set<number>();

  constructor(database: Database, statement: Statements) {
    this.#statement = statement;
    this.#put = new RowWriter(database, "INSERT OR REPLACE INTO tally");
    this.reload();
  }

  /** Reads what other processes have changed, and drops what was not committed. */
  reload(): void {
    // First, so that it is dropped even if nothing can be read.
    this.#tallies = new Map();
    this.#unwritten = new Set();
    this.#untold = new Set();
    for (const row of this.#statement("SELECT receiver, counts FROM tally").all()) {
      const receiver = Number(row["receiver"]);
      this.#tallies.set(receiver, JSON.parse(String(row["counts"])));
      this.#untold.add(receiver);
    }
    this.#readIds();
  }

  #readIds(): void {
    const rows = this.#statement("SELECT number, name FROM receiver").all();
    this.#ids = new Map(rows.map(({ number, name }) => [String(name), Number(number)]));
    this.#names = new Map([...this.#ids].map(([name, id]) => [id, name]));
  }

  /** The id of a receiver, a new one if needed. */
  idOf(name: string): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    this.#statement("INSERT INTO receiver (name) VALUES (?)").run(name);
    this.#readIds();
    return this.idOf(name);
  }

  nameOf(id: number): string {
    return this.#names.get(id) ?? "";
  }

  /** The ids of the receivers that a query is about: one, or all. */
  select(name: string | undefined): number[] {
    if (name === undefined) return [...this.#names.keys()];
    const id = this.#ids.get(name);
    return id === undefined ? [] : [id];
  }

  /** The tally of the receivers that a query is about, with the changes of the transaction that runs. */
  tallyOf(name: string | undefined): Tally {
    const sum: Record<string, number> = {};
    for (const id of this.select(name)) addCounts(sum, this.#tallies.get(id) ?? {});
    return sum;
  }

  /** The tallies that have changed since the last call; at first all. */
  takeTallies(): ChangedTallies {
    const taken = new Map<string, Tally>();
    for (const id of this.#untold) taken.set(this.nameOf(id), this.#tallies.get(id) ?? {});
    this.#untold = new Set();
    return taken;
  }

  /** The last number of a delivery. Numbers are never reused: the dedupe window identifies deliveries by them. */
  get lastNumber(): number {
    return this.#tallies.get(everReceiver)?.[everName] ?? 0;
  }

  /** Notes the id of the newest notification. */
  noteNewest(receiver: number, id: string): void {
    const before = this.#tallies.get(receiver)?.[newestName] ?? 0;
    this.count(receiver, [newestName], timeOf(id) - before);
  }

  /** Adds to the counts with these names. */
  count(receiver: number, names: readonly string[], by: number): void {
    countIn(this.#tallies, receiver, names, by);
    this.#unwritten.add(receiver);
  }

  /** Writes the tallies that this transaction has changed; returns whether there are any. */
  write(): boolean {
    const { size } = this.#unwritten;
    for (const receiver of this.#unwritten) {
      this.#untold.add(receiver);
      this.#put.add({ receiver, counts: JSON.stringify(this.#tallies.get(receiver)) });
    }
    this.#put.write();
    this.#unwritten = new Set();
    return size > 0;
  }
}
