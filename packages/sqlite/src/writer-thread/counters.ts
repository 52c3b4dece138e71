import { timeOf } from "@reporthook/core/store";
import type { Database, Statement } from "../database/driver.ts";
import {
  type ChangedCounts,
  type CountsByKind,
  countIn,
  everKind,
  everReceiver,
  newestKind,
} from "../protocol/counts.ts";
import type { ReceiverIds } from "./receiver-ids.ts";
import { RowWriter } from "./row-writer.ts";

/** The counts in the file, written once per transaction. */
export class Counters {
  readonly #put: RowWriter;
  readonly #all: Statement;
  #counts = new Map<number, number[]>();
  /** The ids of the newest notifications of the transaction that runs, by receiver. */
  #newest = new Map<number, string>();
  /** The receivers whose counts this transaction has changed, and those that have changed since {@link take}. */
  #unwritten = new Set<number>();
  #untold = new Set<number>();

  constructor(database: Database) {
    this.#put = new RowWriter(database, "INSERT OR REPLACE INTO tally");
    this.#all = database.prepare("SELECT receiver, counts FROM tally");
    this.reload();
  }

  /** Counts of receivers by id, with those of the transaction that runs. */
  get counts(): ReadonlyMap<number, CountsByKind> {
    return this.#counts;
  }

  /** The last number of a delivery. Numbers are never reused: the dedupe window identifies deliveries by them. */
  get lastNumber(): number {
    return this.#counts.get(everReceiver)?.[everKind] ?? 0;
  }

  /** Reads the counts from the file: includes those of other processes, and drops uncommitted ones. */
  reload(): void {
    this.#counts = new Map();
    this.#newest = new Map();
    this.#unwritten = new Set();
    this.#untold = new Set();
    for (const row of this.#all.all()) {
      const receiver = Number(row["receiver"]);
      this.#counts.set(receiver, JSON.parse(String(row["counts"])));
      this.#untold.add(receiver);
    }
  }

  /** The counts that have changed since the last call. */
  take(receivers: ReceiverIds): ChangedCounts {
    const taken = new Map<string, CountsByKind>();
    for (const receiver of this.#untold) {
      taken.set(receivers.nameOf(receiver), this.#counts.get(receiver) ?? []);
    }
    this.#untold = new Set();
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
    this.#unwritten.add(receiver);
  }

  /** Writes the changes of this transaction; returns whether there were any. */
  write(): boolean {
    for (const [receiver, id] of this.#newest) {
      this.add(receiver, newestKind, timeOf(id) - (this.newestOf(receiver) ?? 0));
    }
    const { size } = this.#unwritten;
    for (const receiver of this.#unwritten) {
      this.#untold.add(receiver);
      this.#put.add({ receiver, counts: JSON.stringify(this.#counts.get(receiver)) });
    }
    this.#put.write();
    this.#newest = new Map();
    this.#unwritten = new Set();
    return size > 0;
  }
}
