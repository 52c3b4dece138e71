import type { Database, Statement, Value } from "../database/driver.ts";

/** What rows are written with. */
export interface Rows {
  /** The statement up to the columns. */
  readonly into: string;
  /** The names of the values that each row has of its own. */
  readonly own: readonly string[];
  /** And of those that rows have in common as long as they are the same: none, or some. */
  readonly shared?: readonly string[];
  /** The columns, and what of these values is in them. */
  readonly columns: Readonly<Record<string, string>>;
}

const together = 8;

/** Columns that have the names of their values. */
export function asGiven(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}

/** Rows for one table, written several in one statement: to give a value to a driver costs as much as to store it. */
export class ManyRows {
  readonly #width: number;
  readonly #one: Statement;
  readonly #several: Statement;
  #shared: readonly Value[] = [];
  #values: Value[] = [];

  constructor(database: Database, { into, own, shared = [], columns }: Rows) {
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
    this.#several = prepare(together);
  }

  /** Says what the next rows share, in the order of the names; writes those before that shared something else. */
  share(values: readonly Value[]): void {
    if (values.every((value, index) => value === this.#shared[index])) return;
    this.write();
    this.#shared = values;
  }

  /** Takes a row in, its own values in the order of the names. */
  add(...values: readonly Value[]): void {
    for (const value of values) this.#values.push(value);
  }

  /** Writes what was taken in. */
  write(): void {
    const values = this.#values;
    if (values.length === 0) return;
    this.#values = [];
    const step = together * this.#width;
    let at = 0;
    for (; at + step <= values.length; at += step) {
      this.#several.run(...values.slice(at, at + step), ...this.#shared);
    }
    for (; at < values.length; at += this.#width) {
      this.#one.run(...values.slice(at, at + this.#width), ...this.#shared);
    }
  }

  /** Forgets what was not written. */
  clear(): void {
    this.#values = [];
  }
}

function valuesNamed(name: string, columns: readonly string[], rows: number): string {
  const row = `(${columns.map(() => "?").join(", ")})`;
  const all = new Array<string>(rows).fill(row).join(", ");
  return `${name} (${columns.join(", ")}) AS (VALUES ${all})`;
}
