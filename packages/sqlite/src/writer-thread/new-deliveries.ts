import type { Database, Value } from "../database/driver.ts";
import { RowWriter } from "./row-writer.ts";

const own = ["seq", "id", "receiver", "arrived_at", "ack_ms", "signature", "url", "body"];

/**
 * The statement that inserts deliveries. `OR FAIL`, because a failure rolls back the whole transaction: SQLite need not prepare to
 * undo the statement alone.
 */
const insertOf = (rows: string): string => `
  WITH own (${own}) AS (VALUES ${rows}),
  shared (same_signature_as, context, headers, queue, worker) AS (VALUES (?, ?, ?, ?, ?))
  INSERT OR FAIL INTO delivery (${own},
    same_signature_as, context, headers, queue, state, rank, starts)
  SELECT ${own},
    same_signature_as, context, headers, queue, 0, ifnull(worker, arrived_at), worker IS NOT NULL
  FROM own CROSS JOIN shared`;

/** Inserts new deliveries. */
export class NewDeliveries {
  readonly #rows: RowWriter;
  #shared: readonly Value[] = [];
  #values: Value[] = [];

  constructor(database: Database) {
    this.#rows = new RowWriter(database, own.length, insertOf);
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
    this.#rows.write(values, this.#shared);
  }

  /** Drops the deliveries that were not written. */
  clear(): void {
    this.#values = [];
  }
}
