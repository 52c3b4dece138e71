import type { RequestQuery, RequestStore, StoredRequest } from "@reporthook/core";
import { type Retention, requestStates, unsettledKeptMs } from "@reporthook/core/store";
import type { Row, Value } from "../database/driver.ts";
import { requestKinds } from "../protocol/counts.ts";
import type { RequestCall } from "../protocol/protocol.ts";
import type { Tables } from "./deliveries.ts";

const overdue = "settled_at IS NULL AND is_told = 1";

/** The methods of {@link RequestStore} that the main thread calls, without its promises. */
type Called = {
  [Name in RequestCall["method"]]: (
    ...given: Parameters<RequestStore[Name]>
  ) => Awaited<ReturnType<RequestStore[Name]>>;
};

/** The requests for reports in the file; it counts each change. */
export class RequestTable implements Called {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  answer({ method, given }: RequestCall): unknown {
    const called = this[method] as (...given: readonly unknown[]) => unknown;
    return called.apply(this, given);
  }

  add(request: StoredRequest): StoredRequest | null {
    const { receiver, idempotencyKey: key } = request;
    const number = this.#tables.receivers.idOf(receiver);
    const [earlier] = key === null ? [] : this.#where("receiver = ? AND key = ?", number, key);
    if (earlier !== undefined) return this.#requestOf(earlier);
    this.#insert(number, request);
    return null;
  }

  get(id: string, receiver?: string): StoredRequest | null {
    const row = this.#find(id, receiver);
    return row === undefined ? null : this.#requestOf(row);
  }

  replace(read: StoredRequest, next: StoredRequest | null): boolean {
    const row = this.#find(read.id, read.receiver);
    if (row === undefined || row["version"] !== read.version) return false;
    this.#delete(row);
    if (next !== null) this.#insert(Number(row["receiver"]), next);
    return true;
  }

  list(query: RequestQuery): StoredRequest[] {
    const { receiver, state, newestFirst = false, limit } = query;
    // Sorts after every id.
    const { after = newestFirst ? "~" : "" } = query;
    const most = Math.min(limit, Number.MAX_SAFE_INTEGER);
    const rows = this.#tables.receivers.select(receiver).flatMap((number) => {
      const condition = `receiver = ? AND id ${newestFirst ? "<" : ">"} ? AND ${conditionOf(state)}
        ORDER BY id ${newestFirst ? "DESC" : "ASC"} LIMIT ?`;
      return this.#where(condition, number, after, most);
    });
    const sign = newestFirst ? -1 : 1;
    rows.sort((one, other) => (String(one["id"]) < String(other["id"]) ? -sign : sign));
    return rows.slice(0, most).map((row) => this.#requestOf(row));
  }

  due(receiver: string, until: number, limit: number): StoredRequest[] {
    const due =
      "receiver = ? AND settled_at IS NULL AND is_told = 0 AND due_at <= ? ORDER BY due_at LIMIT ?";
    return this.#tables.receivers
      .select(receiver)
      .flatMap((number) => this.#where(due, number, until, limit))
      .map((row) => this.#requestOf(row));
  }

  /** Deletes requests whose retention is over and of which no delivery is kept, at most so many; returns how many. */
  prune({ handledMs }: Retention, now: number, most: number): number {
    const unused =
      "NOT EXISTS (SELECT 1 FROM delivery WHERE receiver = request.receiver AND request = request.id)";
    const isOver = `settled_at < ? AND ${unused} ORDER BY settled_at LIMIT ?`;
    const settled = this.#where(isOver, now - handledMs, most);
    const isGivenUp = `${overdue} AND due_at < ? AND ${unused} LIMIT ?`;
    const given = this.#where(isGivenUp, now - unsettledKeptMs, most - settled.length);
    for (const row of [...settled, ...given]) this.#delete(row);
    return settled.length + given.length;
  }

  #find(id: string, receiver: string | undefined): Row | undefined {
    return this.#tables.receivers
      .select(receiver)
      .flatMap((number) => this.#where("receiver = ? AND id = ?", number, id))[0];
  }

  #insert(receiver: number, request: StoredRequest): void {
    const { receiver: _, id, idempotencyKey: key, state, dueAt, settledAt, ...more } = request;
    const { version, ...data } = more;
    const insert = this.#tables.statement(
      `INSERT INTO request (receiver, id, key, state, due_at, settled_at, is_told, version, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const [stored, told] = [requestStates.indexOf(state), data.dates.overdueAt === null ? 0 : 1];
    insert.run(receiver, id, key, stored, dueAt, settledAt, told, version, JSON.stringify(data));
    this.#count(receiver, request, 1);
  }

  #delete(row: Row): void {
    const [receiver, id] = [Number(row["receiver"]), String(row["id"])];
    this.#tables.statement("DELETE FROM request WHERE receiver = ? AND id = ?").run(receiver, id);
    this.#count(receiver, this.#requestOf(row), -1);
  }

  #count(receiver: number, { state, settledAt, dates }: StoredRequest, by: 1 | -1): void {
    const { counters } = this.#tables;
    counters.add(receiver, requestKinds[state], by);
    const isOverdue = settledAt === null && dates.overdueAt !== null;
    if (isOverdue) counters.add(receiver, requestKinds.overdue, by);
  }

  #requestOf(row: Row): StoredRequest {
    const settledAt = row["settled_at"] ?? null;
    return {
      id: String(row["id"]),
      receiver: this.#tables.receivers.nameOf(Number(row["receiver"])),
      idempotencyKey: (row["key"] ?? null) as string | null,
      state: requestStates[Number(row["state"])] ?? "unconfirmed",
      dueAt: Number(row["due_at"]),
      settledAt: settledAt === null ? null : Number(settledAt),
      version: Number(row["version"]),
      ...JSON.parse(String(row["data"])),
    };
  }

  #where(condition: string, ...values: readonly Value[]): Row[] {
    return this.#tables.statement(`SELECT * FROM request WHERE ${condition}`).all(...values);
  }
}

function conditionOf(state: RequestQuery["state"]): string {
  if (state === undefined) return "TRUE";
  return state === "overdue" ? overdue : `state = ${requestStates.indexOf(state)}`;
}
