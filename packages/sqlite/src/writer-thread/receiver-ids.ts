import type { Statement } from "../database/driver.ts";

/** The ids of receivers, in place of their names in rows and indexes. */
export class ReceiverIds {
  readonly #statement: (sql: string) => Statement;
  #ids = new Map<string, number>();
  #names = new Map<number, string>();

  constructor(statement: (sql: string) => Statement) {
    this.#statement = statement;
    this.reload();
  }

  /** Reads the ids that other processes have added; forgets those that were rolled back. */
  reload(): void {
    const rows = this.#statement("SELECT number, name FROM receiver").all();
    this.#ids = new Map(rows.map(({ number, name }) => [String(name), Number(number)]));
    this.#names = new Map([...this.#ids].map(([name, id]) => [id, name]));
  }

  /** The id of a receiver, a new one if needed. */
  idOf(name: string): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    this.#statement("INSERT INTO receiver (name) VALUES (?)").run(name);
    this.reload();
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
}
