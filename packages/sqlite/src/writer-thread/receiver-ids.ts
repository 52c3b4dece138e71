import type { Database, Statement } from "../database/driver.ts";

/** The receivers' numbers, which stand for their names in rows and indexes. */
export class Receivers {
  readonly #all: Statement;
  readonly #insert: Statement;
  #numbers = new Map<string, number>();
  #names = new Map<number, string>();

  constructor(database: Database) {
    this.#all = database.prepare("SELECT number, name FROM receiver");
    this.#insert = database.prepare("INSERT INTO receiver (name) VALUES (?)");
    this.reload();
  }

  /** Reads those that other processes have added; forgets what was rolled back. */
  reload(): void {
    const rows = this.#all.all();
    this.#numbers = new Map(rows.map(({ number, name }) => [String(name), Number(number)]));
    this.#names = new Map([...this.#numbers].map(([name, number]) => [number, name]));
  }

  /** The number of a name, a new one if need be. */
  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#insert.run(name);
    this.reload();
    return this.numberOf(name);
  }

  /** The number of a name that was seen before. */
  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  nameOf(number: number): string {
    return this.#names.get(number) ?? "";
  }

  /** The numbers of one, or of all. */
  chosen(name: string | undefined): number[] {
    if (name === undefined) return [...this.#names.keys()];
    const number = this.find(name);
    return number === undefined ? [] : [number];
  }
}
