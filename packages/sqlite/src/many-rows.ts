import type { Database, Statement, Value } from "./driver.ts";

const together = 8;

/** Rows for one table, written several in one statement: each call of a driver costs as much as four of its values. */
export class ManyRows {
  readonly #width: number;
  readonly #one: Statement;
  readonly #several: Statement;
  #values: Value[] = [];

  /** `into` is the statement up to the columns: those that are given, and those with an expression of their own. */
  constructor(
    database: Database,
    into: string,
    columns: readonly string[],
    expressions: Readonly<Record<string, string>> = {},
  ) {
    this.#width = columns.length;
    const names = [...columns, ...Object.keys(expressions)];
    const row = `(${[...columns.map(() => "?"), ...Object.values(expressions)].join(", ")})`;
    const prepare = (rows: number): Statement => {
      const all = new Array<string>(rows).fill(row).join(", ");
      return database.prepare(`${into} (${names.join(", ")}) VALUES ${all}`);
    };
    this.#one = prepare(1);
    this.#several = prepare(together);
  }

  /** Takes a row in, its values in the order of the columns. */
  add(...values: readonly Value[]): void {
    this.#values.push(...values);
  }

  /** Writes what was taken in. */
  write(): void {
    const values = this.#values;
    if (values.length === 0) return;
    this.#values = [];
    const step = together * this.#width;
    let at = 0;
    for (; at + step <= values.length; at += step)
      this.#several.run(...values.slice(at, at + step));
    for (; at < values.length; at += this.#width) {
      this.#one.run(...values.slice(at, at + this.#width));
    }
  }

  /** Forgets what was not written. */
  clear(): void {
    this.#values = [];
  }
}
