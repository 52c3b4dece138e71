import type { Database, Statement, Value } from "../database/driver.ts";

const rowsPerStatement = 8;

/** Writes rows, several in one statement where there are as many: passing a value to a driver costs as much as storing it. */
export class RowWriter {
  readonly #valuesPerRow: number;
  readonly #one: Statement;
  readonly #several: Statement;
  #shared: readonly Value[] = [];
  #values: Value[] = [];

  /** `sqlOf` makes the statement for some rows: `(?, ?), (?, ?)` if these are two, of two values each. */
  constructor(database: Database, valuesPerRow: number, sqlOf: (rows: string) => string) {
    const row = `(${new Array<string>(valuesPerRow).fill("?").join(", ")})`;
    const prepare = (rows: number): Statement =>
      database.prepare(sqlOf(new Array<string>(rows).fill(row).join(", ")));
    this.#valuesPerRow = valuesPerRow;
    this.#one = prepare(1);
    this.#several = prepare(rowsPerStatement);
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
    const many = rowsPerStatement * this.#valuesPerRow;
    for (let at = 0; at < values.length; ) {
      const isMany = values.length - at >= many;
      const end = at + (isMany ? many : this.#valuesPerRow);
      const statement = isMany ? this.#several : this.#one;
      statement.run(...values.slice(at, end), ...this.#shared);
      at = end;
    }
  }

  /** Drops the rows that were not written. */
  clear(): void {
    this.#values = [];
  }
}
