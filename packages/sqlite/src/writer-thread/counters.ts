import type { Database, Statement } from "../database/driver.ts";
import { ever, none } from "../protocol/kinds.ts";

/** Counts in the file, written once per transaction. */
export class Tally {
  readonly #add: Statement;
  readonly #all: Statement;
  #numbers = new Map<number, number[]>();
  #changes = new Map<number, number[]>();

  constructor(database: Database) {
    this.#add = database.prepare(
      "INSERT INTO tally (receiver, kind, number) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
    );
    this.#all = database.prepare("SELECT receiver, kind, number FROM tally");
    this.reload();
  }

  /** Numbers by kind, of receivers by their number; with what is not committed yet. */
  get numbers(): ReadonlyMap<number, readonly number[]> {
    return this.#numbers;
  }

  /** Reads what is in the file: what other processes have counted, without what is not committed. */
  reload(): void {
    this.#numbers = new Map();
    this.#changes = new Map();
    for (const { receiver, kind, number } of this.#all.all()) {
      numbersOf(this.#numbers, Number(receiver))[Number(kind)] = Number(number);
    }
  }

  change(receiver: number, kind: number, by: number): void {
    const numbers = numbersOf(this.#numbers, receiver);
    const changes = numbersOf(this.#changes, receiver);
    numbers[kind] = (numbers[kind] ?? 0) + by;
    changes[kind] = (changes[kind] ?? 0) + by;
  }

  /** Writes the changes of this transaction; returns whether there were any. */
  flush(): boolean {
    const { size } = this.#changes;
    for (const [receiver, numbers] of this.#changes) {
      for (const [kind, number] of numbers.entries()) {
        if (number !== 0) this.#add.run(receiver, kind, number);
      }
    }
    this.#changes = new Map();
    return size > 0;
  }
}

function numbersOf(map: Map<number, number[]>, receiver: number): number[] {
  let numbers = map.get(receiver);
  if (numbers === undefined) {
    numbers = [...none];
    map.set(receiver, numbers);
  }
  return numbers;
}

/** The last number that was given to a delivery of this file: never again to another, for the dedupe window tells them apart by it. */
export function lastNumber(database: Database): number {
  const given = database.prepare("SELECT sum(number) AS last FROM tally WHERE kind = ?");
  return Number(given.get(ever)?.["last"] ?? 0);
}
