import type { EntryDetails, ReleaseQuery } from "@reporthook/core";
import {
  assertParked,
  assertReleasable,
  detailsOf,
  notFound,
  notWaiting,
  reopen,
} from "@reporthook/core/store";
import type { Row, Statement } from "../../database/driver.ts";
import { type ReleaseStep, rowsPerStep } from "../../protocol/protocol.ts";
import { queues } from "../../protocol/queues.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Lived } from "../lived.ts";

/** Actions of operators: get, release, retry, discard. */
export class Admin {
  readonly #deliveries: Deliveries;
  readonly #lived: Lived;
  readonly #find: Statement;
  readonly #parkedFor: Statement;

  constructor(deliveries: Deliveries, lived: Lived) {
    this.#deliveries = deliveries;
    this.#lived = lived;
    const { tables } = deliveries;
    this.#find = tables.database.prepare(
      "SELECT * FROM delivery WHERE receiver = ? AND state IN (0, 1, 2, 3, 4, 5) AND id = ? LIMIT 1",
    );
    this.#parkedFor = tables.database.prepare(
      `SELECT * FROM delivery WHERE receiver = ? AND reason = ? AND id > ? AND queue IS NULL AND state IN (3, 5) ORDER BY id LIMIT ${rowsPerStep}`,
    );
  }

  get(id: string, receiver: string | undefined): EntryDetails | null {
    const row = this.#row(id, receiver);
    if (row === null) return null;
    return detailsOf(this.#deliveries.storedDeliveryOf(row), this.#lived.wallOffset);
  }

  /** Releases one delivery, or the next ones parked for a reason: each once, even if it is parked again meanwhile. */
  release(query: ReleaseQuery, after: string): ReleaseStep {
    const { receiver, now } = query;
    if ("reason" in query) {
      const rows = this.#deliveries.tables.receivers
        .select(receiver)
        .flatMap((id) => this.#parkedFor.all(id, query.reason, after));
      for (const row of rows) this.#reopen(row, now);
      return { released: rows.length, last: String(rows.at(-1)?.["id"] ?? after) };
    }
    if ("retry" in query) return this.#retry(query.retry, receiver, now);
    const row = this.#mustFind(query.id, receiver);
    assertReleasable(this.#deliveries.storedDeliveryOf(row));
    this.#reopen(row, now);
    return { released: 1, last: query.id };
  }

  discard(id: string, receiver: string | undefined): void {
    const row = this.#mustFind(id, receiver);
    assertParked(this.#deliveries.storedDeliveryOf(row));
    this.#deliveries.remove(row);
  }

  #retry(id: string, receiver: string, now: number): ReleaseStep {
    const row = this.#mustFind(id, receiver);
    if (row["queue"] !== queues.verify.later && row["queue"] !== queues.handle.later) {
      throw notWaiting(id);
    }
    this.#deliveries.edit(row, now, (stored) => {
      stored.dueAt = now;
    });
    return { released: 1, last: id };
  }

  #reopen(row: Row, now: number): void {
    this.#deliveries.edit(row, now, (stored) => reopen(stored, now));
    this.#deliveries.forgetStarts(row);
  }

  #mustFind(id: string, receiver: string | undefined): Row {
    const row = this.#row(id, receiver);
    if (row !== null) return row;
    throw notFound(id);
  }

  #row(id: string, receiver: string | undefined): Row | null {
    for (const number of this.#deliveries.tables.receivers.select(receiver)) {
      const row = this.#find.get(number, id);
      if (row !== undefined) return row;
    }
    return null;
  }
}
