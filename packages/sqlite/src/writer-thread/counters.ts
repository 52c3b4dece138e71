import { timeOf } from "@reporthook/core/store";
import type { Database, Statement } from "../database/driver.ts";
import {
  type ChangedCounts,
  type CountsByKind,
  countIn,
  countsIn,
  everKind,
  newestKind,
} from "../protocol/counts.ts";
import type { ReceiverIds } from "./receiver-ids.ts";
import { RowWriter } from "./row-writer.ts";

/** The counts in the file, written once per transaction. */
export class Counters {
  readonly #add: RowWriter;
  readonly #all: Statement;
  #counts = new Map<number, number[]>();
  #changes = new Map<number, number[]>();
  /** The ids of the newest notifications of the transaction that runs, by receiver. */
  #newest = new Map<number, string>();
  /** The receivers whose counts have changed since {@link take}, and what that has told of each. */
  #changed = new Set<number>();
  readonly #told = new Map<number, CountsByKind>();

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
    this.#told.clear();
    this.#newest = new Map();
    for (const row of this.#all.all()) {
      const receiver = Number(row["receiver"]);
      countsIn(this.#counts, receiver)[Number(row["kind"])] = Number(row["number"]);
      this.#changed.add(receiver);
    }
  }

  /** The counts that have changed since the last call. */
  take(receivers: ReceiverIds): ChangedCounts {
    const taken = new Map<string, readonly number[]>();
    for (const receiver of this.#changed) {
      const counts = this.#counts.get(receiver) ?? [];
      const told = this.#told.get(receiver) ?? [];
      const pairs: number[] = [];
      for (let kind = 0; kind < counts.length; kind++) {
        if (counts[kind] !== told[kind]) pairs.push(kind, counts[kind] ?? 0);
      }
      taken.set(receivers.nameOf(receiver), pairs);
      this.#told.set(receiver, [...counts]);
    }
    this.#changed = new Set();
    return taken;
  }

  /** When the newest notification of a receiver was received; null before the first. */
  newestOf(receiver: number): number | null {
    return this.#counts.get(receiver)?.[newestKind] || null;
  }

  /** Notes the id of the newest notification. */
  noteNewest(receiver: number, id: string): void {
    this.#newest.set(receiver, id);
  }

  add(receiver: number, kind: number, by: number): void {
    countIn(this.#counts, receiver, kind, by);
    countIn(this.#changes, receiver, kind, by);
  }

  /** Writes the changes of this transaction; returns whether there were any. */
  write(): boolean {
    for (const [receiver, id] of this.#newest) {
      this.add(receiver, newestKind, timeOf(id) - (this.newestOf(receiver) ?? 0));
    }
    const { size } = this.#changes;
    for (const [receiver, counts] of this.#changes) {
      this.#changed.add(receiver);
      for (const [kind, number] of counts.entries()) {
        if (number !== 0) this.#add.add(receiver, kind, number);
      }
    }
    this.#add.write();
    this.#newest = new Map();
    this.#changes = new Map();
    return size > 0;
  }
}

/** The last number of a delivery in this file. Numbers are never reused: the dedupe window identifies deliveries by them. */
export function lastNumber(database: Database): number {
  const given = database.prepare("SELECT sum(number) AS last FROM tally WHERE kind = ?");
  return Number(given.get(everKind)?.["last"] ?? 0);
}
