import type { Database, Statement } from "../database/driver.ts";
import { type CountsByKind, countIn, everKind } from "../protocol/counts.ts";
import { RowWriter } from "./row-writer.ts";

/** The counts in the file, written once per transaction. */
export class Counters {
  readonly #add: RowWriter;
  readonly #all: Statement;
  #counts = new Map<number, number[]>();
  #changes = new Map<number, number[]>();
  /** The receivers whose counts have changed since {@link take}. */
  #changed = new Set<number>();

  constructor(database: Database) {
    this.#add = new RowWriter(
      database,
      3,
      (rows) =>
        `INSERT INTO tally (receiver, kind, number) VALUES ${rows} ON CONFLICT DO UPDATE SET number = number + excluded.number`,
    );
    this.#all = database.prepare("SELECT receiver, kind, number FROM tally");
    this.reload();
  }

  /** Counts of receivers by id, with those of the transaction that runs. */
  get counts(): ReadonlyMap<number, CountsByKind> {
    return this.#counts;
  }

  /** Reads the counts from the file: includes those of other processes, and drops uncommitted ones. */
  reload(): void {
    this.#counts = new Map();
    this.#changes = new Map();
    this.#changed = new Set();
    for (const { receiver, kind, number } of this.#all.all()) {
      countIn(this.#counts, Number(receiver), Number(kind), Number(number));
      this.#changed.add(Number(receiver));
    }
  }

  /** The counts that have changed since the last call, by the receiver's id. */
  take(): ReadonlyMap<number, CountsByKind> {
    const taken = new Map<number, CountsByKind>();
    for (const id of this.#changed) taken.set(id, this.#counts.get(id) ?? []);
    this.#changed = new Set();
    return taken;
  }

  add(receiver: number, kind: number, by: 1 | -1): void {
    countIn(this.#counts, receiver, kind, by);
    countIn(this.#changes, receiver, kind, by);
  }

  /** Writes the changes of this transaction; returns whether there were any. */
  write(): boolean {
    const { size } = this.#changes;
    for (const [receiver, counts] of this.#changes) {
      this.#changed.add(receiver);
      for (const [kind, number] of counts.entries()) {
        if (number !== 0) this.#add.add(receiver, kind, number);
      }
    }
    this.#add.write();
    this.#changes = new Map();
    return size > 0;
  }
}

/** The last number of a delivery in this file. Numbers are never reused: the dedupe window identifies deliveries by them. */
export function lastNumber(database: Database): number {
  const given = database.prepare("SELECT sum(number) AS last FROM tally WHERE kind = ?");
  return Number(given.get(everKind)?.["last"] ?? 0);
}
