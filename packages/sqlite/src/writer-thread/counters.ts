import { timeOf } from "@reporthook/core/store";
import type { Database, Statement } from "../database/driver.ts";
import {
  type ChangedTallies,
  countIn,
  everName,
  everReceiver,
  newestName,
  type Tally,
} from "../protocol/counts.ts";
import type { ReceiverIds } from "./receiver-ids.ts";
import { RowWriter } from "./row-writer.ts";

/** The tallies in the file, written once per transaction. */
export class Counters {
  readonly #put: RowWriter;
  readonly #all: Statement;
  #tallies = new Map<number, Record<string, number>>();
  /** The receivers whose tallies this transaction has changed, and those that have changed since {@link take}. */
  #unwritten = new Set<number>();
  #untold = new Set<number>();

  constructor(database: Database) {
    this.#put = new RowWriter(database, "INSERT OR REPLACE INTO tally");
    this.#all = database.prepare("SELECT receiver, counts FROM tally");
    this.reload();
  }

  /** By the ids of receivers, with the changes of the transaction that runs. */
  get tallies(): ReadonlyMap<number, Tally> {
    return this.#tallies;
  }

  /** The last number of a delivery. Numbers are never reused: the dedupe window identifies deliveries by them. */
  get lastNumber(): number {
    return this.#tallies.get(everReceiver)?.[everName] ?? 0;
  }

  /** Reads the tallies from the file: includes changes of other processes, and drops uncommitted ones. */
  reload(): void {
    this.#tallies = new Map();
    this.#unwritten = new Set();
    this.#untold = new Set();
    for (const row of this.#all.all()) {
      const receiver = Number(row["receiver"]);
      this.#tallies.set(receiver, JSON.parse(String(row["counts"])));
      this.#untold.add(receiver);
    }
  }

  /** The tallies that have changed since the last call. */
  take(receivers: ReceiverIds): ChangedTallies {
    const taken = new Map<string, Tally>();
    for (const receiver of this.#untold) {
      taken.set(receivers.nameOf(receiver), this.#tallies.get(receiver) ?? {});
    }
    this.#untold = new Set();
    return taken;
  }

  /** Notes the id of the newest notification. */
  noteNewest(receiver: number, id: string): void {
    const before = this.#tallies.get(receiver)?.[newestName] ?? 0;
    this.add(receiver, newestName, timeOf(id) - before);
  }

  /** Adds to the counts with these names. */
  add(receiver: number, names: string, by: number): void {
    countIn(this.#tallies, receiver, names, by);
    this.#unwritten.add(receiver);
  }

  /** Writes the changes of this transaction; returns whether there were any. */
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
