import type { ActsQuery, LoggedAct } from "@reporthook/core";
import { loggedActOf, maxActs, selectionFrom } from "@reporthook/core/store";
import type { Statement } from "../../database/driver.ts";
import type { Tables } from "../deliveries.ts";

/** The log of the acts of people. */
export class StoredActs {
  readonly #receivers: Tables["receivers"];
  readonly #last: Statement;
  readonly #insert: Statement;
  readonly #raise: Statement;
  readonly #bound: Statement;
  readonly #ofAll: Statement;
  readonly #ofOne: Statement;

  constructor({ database, receivers }: Pick<Tables, "database" | "receivers">) {
    this.#receivers = receivers;
    this.#last = database.prepare("SELECT max(number) AS number FROM act");
    this.#insert = database.prepare(
      "INSERT INTO act (number, receiver, at, act, by, selection, count) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#raise = database.prepare("UPDATE act SET count = count + ? WHERE number = ?");
    this.#bound = database.prepare("DELETE FROM act WHERE number <= ?");
    const select = "SELECT at, act, by, selection, count FROM act";
    this.#ofAll = database.prepare(`${select} ORDER BY number DESC LIMIT ?`);
    this.#ofOne = database.prepare(
      `${select} WHERE receiver IS NULL OR receiver = ? ORDER BY number DESC LIMIT ?`,
    );
  }

  /** Logs a step of an act that changed so many deliveries; returns the number of the act, which the next step gives again. */
  add(
    query: Parameters<typeof loggedActOf>[0],
    count: number,
    number: number | null,
  ): number | null {
    if (count === 0) return number;
    if (number !== null) {
      this.#raise.run(count, number);
      return number;
    }
    const { at, by, act, selection } = loggedActOf(query, count);
    const { receiver } = query;
    const of = receiver === undefined ? null : this.#receivers.idOf(receiver);
    const added = Number(this.#last.get()?.["number"] ?? 0) + 1;
    this.#insert.run(added, of, at.getTime(), act, by, JSON.stringify(selection), count);
    this.#bound.run(added - maxActs);
    return added;
  }

  list({ receiver, limit = 100 }: ActsQuery): LoggedAct[] {
    const most = Math.min(limit, maxActs);
    const rows =
      receiver === undefined
        ? this.#ofAll.all(most)
        : this.#receivers.select(receiver).flatMap((of) => this.#ofOne.all(of, most));
    return rows.map(({ at, by, act, selection, count }) => ({
      at: new Date(Number(at)),
      by: by as string | null,
      act: act as LoggedAct["act"],
      selection: selectionFrom(String(selection)),
      count: Number(count),
    }));
  }
}
