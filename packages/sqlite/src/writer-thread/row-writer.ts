import type { Database, Statement, Value } from "../database/driver.ts";

const mostRows = 32;
const mostStatements = 64;

/** How the values of a column are given: each by itself, or one for all rows. */
const [each, once, isNull] = [0, 1, 2];

/**
 * Writes rows, many in one statement: a call of a driver costs as much as storing a row, and each value a part of that. So one that
 * all rows share is bound once, and a null not at all.
 */
export class RowWriter {
  readonly #database: Database;
  readonly #into: string;
  #columns: readonly string[] = [];
  /** By how the values are given, and the number of rows. */
  readonly #statements = new Map<number, Statement>();
  #rows: (readonly Value[])[] = [];

  /** `into` begins the statement: `INSERT INTO` and the table. */
  constructor(database: Database, into: string) {
    this.#database = database;
    this.#into = into;
  }

  /** Adds a row by its columns, the same in the same order for each; {@link write} writes it. */
  add(row: Readonly<Record<string, Value>>): void {
    if (this.#columns.length === 0) this.#columns = Object.keys(row);
    this.#rows.push(Object.values(row));
  }

  write(): void {
    const rows = this.#rows;
    this.#rows = [];
    const [first] = rows;
    if (first === undefined) return;
    const given = first.map((value, at) => {
      // The first column also where rows are the same: there is a row for each.
      if (rows.some((row) => row !== first && (at === 0 || row[at] !== value))) return each;
      return value === null ? isNull : once;
    });
    const own = [...given.keys()].filter((at) => given[at] === each);
    const shared = first.filter((_value, at) => given[at] === once);
    for (let [at, count] = [0, mostRows]; at < rows.length; ) {
      if (at + count > rows.length) {
        count /= 2;
        continue;
      }
      const values: Value[] = [];
      for (const row of rows.slice(at, at + count)) {
        for (const column of own) values.push(row[column] ?? null);
      }
      this.#statement(given, count).run(...values, ...shared);
      at += count;
    }
  }

  #statement(given: readonly number[], rows: number): Statement {
    const key = given.reduce((sum, one) => 3 * sum + one, 0) * 2 * mostRows + rows;
    const statement = this.#statements.get(key) ?? this.#prepare(given, rows);
    if (this.#statements.size === mostStatements) this.#statements.clear();
    this.#statements.set(key, statement);
    return statement;
  }

  #prepare(given: readonly number[], rows: number): Statement {
    const own = this.#columns.filter((_name, at) => given[at] === each);
    const selected = this.#columns.map((name, at) =>
      given[at] === each ? name : given[at] === once ? "?" : "NULL",
    );
    const insert = `${this.#into} (${this.#columns}) SELECT ${selected}`;
    if (own.length === 0) return this.#database.prepare(insert);
    const row = `(${own.map(() => "?")})`;
    const values = `VALUES ${new Array(rows).fill(row)}`;
    return this.#database.prepare(`WITH own (${own}) AS (${values}) ${insert} FROM own`);
  }

  /** Drops the rows that were not written. */
  clear(): void {
    this.#rows = [];
  }
}
