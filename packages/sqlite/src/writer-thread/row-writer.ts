import type { Database, Statement, Value } from "../database/driver.ts";

// A prepared statement keeps the bodies that were bound last: more rows would take more memory than they save time.
const mostRows = 16;

type Columns = Readonly<Record<string, Value>>;

/**
 * Writes rows, many in one statement: a call of a driver costs as much as storing a row, and each value a part of that. So values
 * that rows are likely to share are bound once if they do.
 */
export class RowWriter {
  readonly #database: Database;
  readonly #into: string;
  /** By whether some values are shared, and the number of rows: 1, 2, 4, … */
  readonly #statements = new Map<string, Statement>();
  #rows: { readonly own: readonly Value[]; readonly common: readonly Value[] }[] = [];
  #names: { readonly own: readonly string[]; readonly common: readonly string[] } | null = null;

  /** `into` begins the statement: `INSERT INTO` and the table. */
  constructor(database: Database, into: string) {
    this.#database = database;
    this.#into = into;
  }

  /** Adds a row, whose columns are the same in the same order each time; {@link write} writes it. `common` may be shared. */
  add(own: Columns, common: Columns = {}): void {
    this.#names ??= { own: Object.keys(own), common: Object.keys(common) };
    this.#rows.push({ own: Object.values(own), common: Object.values(common) });
  }

  write(): void {
    const rows = this.#rows;
    this.#rows = [];
    const shared = rows[0]?.common ?? [];
    const isShared = rows.every(({ common }) => common.every((value, at) => value === shared[at]));
    for (let [at, count] = [0, mostRows]; at < rows.length; ) {
      if (at + count > rows.length) {
        count /= 2;
        continue;
      }
      const values: Value[] = [];
      for (const { own, common } of rows.slice(at, at + count)) {
        for (const value of own) values.push(value);
        if (!isShared) for (const value of common) values.push(value);
      }
      this.#statement(isShared, count).run(...values, ...(isShared ? shared : []));
      at += count;
    }
  }

  #statement(isShared: boolean, rows: number): Statement {
    const key = `${isShared} ${rows}`;
    const statement = this.#statements.get(key) ?? this.#prepare(isShared, rows);
    this.#statements.set(key, statement);
    return statement;
  }

  #prepare(isShared: boolean, rows: number): Statement {
    const { own = [], common = [] } = this.#names ?? {};
    const all = [...own, ...common];
    const listed = isShared ? own : all;
    const row = `(${listed.map(() => "?")})`;
    const selected = [...listed, ...all.slice(listed.length).map(() => "?")];
    return this.#database.prepare(
      `WITH listed (${listed}) AS (VALUES ${new Array(rows).fill(row)})
       ${this.#into} (${all}) SELECT ${selected} FROM listed`,
    );
  }

  /** Drops the rows that were not written. */
  clear(): void {
    this.#rows = [];
  }
}
