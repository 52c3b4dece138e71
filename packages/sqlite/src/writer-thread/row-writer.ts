import type { Database, Statement, Value } from "../database/driver.ts";

const rowsPerStatement = 8;

/** Writes rows, several in one statement where there are as many: passing a value to a driver costs as much as storing it. */
export class RowWriter {
  readonly #valuesPerRow: number;
  readonly #one: Statement;
  readonly #several: Statement;

  /** `sqlOf` makes the statement for a number of rows: for `(?, ?), (?, ?)` if there are two, of two values each. */
  constructor(database: Database, valuesPerRow: number, sqlOf: (rows: string) => string) {
    const row = `(${new Array<string>(valuesPerRow).fill("?").join(", ")})`;
    const rows = (count: number): string => new Array<string>(count).fill(row).join(", ");
    this.#valuesPerRow = valuesPerRow;
    this.#one = database.prepare(sqlOf(rows(1)));
    this.#several = database.prepare(sqlOf(rows(rowsPerStatement)));
  }

  /** Writes the rows whose values follow each other; `shared` values are bound after those of the rows. */
  write(values: readonly Value[], shared: readonly Value[] = []): void {
    const many = rowsPerStatement * this.#valuesPerRow;
    for (let at = 0; at < values.length; ) {
      const isMany = values.length - at >= many;
      const end = at + (isMany ? many : this.#valuesPerRow);
      const statement = isMany ? this.#several : this.#one;
      statement.run(...values.slice(at, end), ...shared);
      at = end;
    }
  }
}
