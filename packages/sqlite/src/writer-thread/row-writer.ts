import type { Database, Statement, Value } from "../database/driver.ts";

const mostRows = 32;

/** Writes rows, many in one statement: a call of a driver costs as much as storing a row. */
export class RowWriter {
  readonly #valuesPerRow: number;
  readonly #prepare: (rows: number) => Statement;
  /** For 1, 2, 4, … rows. */
  readonly #statements = new Map<number, Statement>();
  #shared: readonly Value[] = [];
  #values: Value[] = [];

  /** `sqlOf` makes the statement for some rows: `(?, ?), (?, ?)` if these are two, of two values each. */
  constructor(database: Database, valuesPerRow: number, sqlOf: (rows: string) => string) {
    const row = `(${new Array<string>(valuesPerRow).fill("?").join(", ")})`;
    this.#valuesPerRow = valuesPerRow;
    this.#prepare = (rows) => database.prepare(sqlOf(new Array<string>(rows).fill(row).join(", ")));
  }

  /** Sets the values that the next rows share; they are bound after those of the rows. */
  share(...values: readonly Value[]): void {
    if (values.every((value, index) => value === this.#shared[index])) return;
    this.write();
    this.#shared = values;
  }

  /** Adds a row; {@link write} writes it. */
  add(...values: readonly Value[]): void {
    for (const value of values) this.#values.push(value);
  }

  write(): void {
    const values = this.#values;
    this.#values = [];
    for (let [at, rows] = [0, mostRows]; at < values.length; ) {
      const end = at + rows * this.#valuesPerRow;
      if (end > values.length) {
        rows /= 2;
        continue;
      }
      this.#statement(rows).run(...values.slice(at, end), ...this.#shared);
      at = end;
    }
  }

  #statement(rows: number): Statement {
    const statement = this.#statements.get(rows) ?? this.#prepare(rows);
    this.#statements.set(rows, statement);
    return statement;
  }

  /** Drops the rows that were not written. */
  clear(): void {
    this.#values = [];
  }
}
