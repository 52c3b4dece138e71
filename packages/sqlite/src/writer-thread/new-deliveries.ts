import type { Database, Statement, Value } from "../database/driver.ts";

const rowsPerStatement = 8;
const valuesPerRow = 7;

/**
 * The statement that inserts deliveries. `OR FAIL`, because a failure rolls back the whole transaction: SQLite need not prepare to
 * undo the statement alone.
 */
const insertOf = (rows: number): string => `
  WITH own (seq, id, arrived_at, ack_ms, key, signature, body)
    AS (VALUES ${new Array<string>(rows).fill("(?, ?, ?, ?, ?, ?, ?)").join(", ")}),
  shared (receiver, is_reused, same_signature_as, url, context, headers, queue, worker)
    AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?))
  INSERT OR FAIL INTO delivery (seq, id, arrived_at, ack_ms, key, signature, body,
    receiver, is_reused, same_signature_as, url, context, headers, queue, state, rank, starts)
  SELECT seq, id, arrived_at, ack_ms, key, signature, body,
    receiver, is_reused, same_signature_as, url, context, headers, queue,
    0, ifnull(worker, arrived_at), worker IS NOT NULL
  FROM own CROSS JOIN shared`;

/** Inserts new deliveries, several in one statement: passing a value to a driver costs as much as storing it. */
export class NewDeliveries {
  readonly #one: Statement;
  readonly #several: Statement;
  #shared: readonly Value[] = [];
  #values: Value[] = [];

  constructor(database: Database) {
    this.#one = database.prepare(insertOf(1));
    this.#several = database.prepare(insertOf(rowsPerStatement));
  }

  /** Sets the values that the next deliveries share, in the order of the statement. */
  share(...values: readonly Value[]): void {
    if (values.every((value, index) => value === this.#shared[index])) return;
    this.write();
    this.#shared = values;
  }

  /** Adds the other values of a delivery, in the order of the statement; {@link write} inserts it. */
  add(...values: readonly Value[]): void {
    for (const value of values) this.#values.push(value);
  }

  write(): void {
    const values = this.#values;
    this.#values = [];
    for (let at = 0; at < values.length; ) {
      const isMany = values.length - at >= rowsPerStatement * valuesPerRow;
      const end = at + (isMany ? rowsPerStatement : 1) * valuesPerRow;
      const statement = isMany ? this.#several : this.#one;
      statement.run(...values.slice(at, end), ...this.#shared);
      at = end;
    }
  }

  /** Drops the deliveries that were not written. */
  clear(): void {
    this.#values = [];
  }
}
