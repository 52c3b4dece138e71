import type { Database, Statement, Value } from "../database/driver.ts";

/** The shape of the rows that are inserted. */
export interface RowShape {
  /** The statement up to the columns. */
  readonly into: string;
  /** Names of the values of each row. */
  readonly own: readonly string[];
  /** Names of the values that consecutive rows share. */
  readonly shared?: readonly string[];
  /** The columns, each with an expression of these names. */
  readonly columns: Readonly<Record<string, string>>;
}

const rowsPerStatement = 8;

/** Columns that have the names of their values. */
export function asNamed(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}

/** Inserts rows into one table, several in one statement: passing a value to a driver costs as much as storing it. */
export class BulkInsert {
  readonly #width: number;
  readonly #one: Statement;
  readonly #several: Statement;
  #shared: readonly Value[] = [];
  #values: Value[] = [];

  constructor(database: Database, { into, own, shared = [], columns }: RowShape) {
    this.#width = own.length;
    const prepare = (rows: number): Statement => {
      const values = valuesNamed("own", own, rows);
      const withShared = shared.length === 0 ? "" : `, ${valuesNamed("shared", shared, 1)}`;
      return database.prepare(
        `WITH ${values}${withShared} ${into} (${Object.keys(columns).join(", ")})
         SELECT ${Object.values(columns).join(", ")} FROM own${withShared && " CROSS JOIN shared"}`,
      );
    };
    this.#one = prepare(1);
    this.#several = prepare(rowsPerStatement);
  }

  /** Sets the shared values of the next rows, in the order of their names. */
  share(values: readonly Value[]): void {
    if (values.every((value, index) => value === this.#shared[index])) return;
    this.write();
    this.#shared = values;
  }

  /** Adds the values of a row, in the order of their names; {@link write} inserts it. */
  add(...values: readonly Value[]): void {
    for (const value of values) this.#values.push(value);
  }

  write(): void {
    const values = this.#values;
    if (values.length === 0) return;
    this.#values = [];
    const step = rowsPerStatement * this.#width;
    let at = 0;
    for (; at + step <= values.length; at += step) {
      this.#several.run(...values.slice(at, at + step), ...this.#shared);
    }
    for (; at < values.length; at += this.#width) {
      this.#one.run(...values.slice(at, at + this.#width), ...this.#shared);
    }
  }

  /** Drops the rows that were not written. */
  clear(): void {
    this.#values = [];
  }
}

function valuesNamed(name: string, columns: readonly string[], rows: number): string {
  const row = `(${columns.map(() => "?").join(", ")})`;
  const all = new Array<string>(rows).fill(row).join(", ");
  return `${name} (${columns.join(", ")}) AS (VALUES ${all})`;
}
