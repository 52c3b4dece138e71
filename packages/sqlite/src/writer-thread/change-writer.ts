import type { Database, Statement, Value } from "../database/driver.ts";
import { type Changes, changedColumns } from "../protocol/row.ts";

const mostStatements = 64;

/** Writes changes of a delivery. Most of them are null, and a NULL in the statement costs less than one that is bound. */
export class ChangeWriter {
  readonly #prepare: (changes: Changes) => Statement;
  /** By which of the changes are null, as bits. */
  readonly #statements = new Map<number, Statement>();

  /** `rest` is the statement after these changes. */
  constructor(database: Database, rest: string) {
    this.#prepare = (changes) => {
      const all = changes.map(
        (value, at) => `${changedColumns[at]} = ${value === null ? "NULL" : "?"}`,
      );
      return database.prepare(`UPDATE delivery SET ${all.join(", ")}${rest}`);
    };
  }

  /** Returns the number of deliveries that were changed. */
  run(changes: Changes, ...values: readonly Value[]): number {
    let nulls = 0;
    for (const value of changes) nulls = 2 * nulls + (value === null ? 1 : 0);
    const statement = this.#statements.get(nulls) ?? this.#prepare(changes);
    if (this.#statements.size < mostStatements) this.#statements.set(nulls, statement);
    const bound = changes.filter((value) => value !== null);
    return Number(statement.run(...bound, ...values).changes);
  }
}
