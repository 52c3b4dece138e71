import type { RequestQuery, StoredRequest } from "@reporthook/core";
import { type Retention, requestStates, unsettledKeptMs } from "@reporthook/core/store";
import type { Value } from "../database/driver.ts";
import type { Deliveries } from "./deliveries.ts";

const overdue = "settled_at IS NULL AND overdue_at IS NOT NULL";

/** The requests for reports in the file; it counts each change. */
export class RequestTable {
  readonly #deliveries: Deliveries;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  add(request: StoredRequest): StoredRequest | null {
    const { receiver, idempotencyKey: key } = request;
    const [earlier] = key === null ? [] : this.#of(receiver, "key = ?", key);
    if (earlier === undefined) this.#insert(request);
    return earlier ?? null;
  }

  get(id: string, receiver?: string): StoredRequest | null {
    return this.#of(receiver, "id = ?", id)[0] ?? null;
  }

  replace({ id, receiver, version }: StoredRequest, next: StoredRequest | null): boolean {
    const stored = this.get(id, receiver);
    if (stored?.version !== version) return false;
    this.#delete(stored);
    if (next !== null) this.#insert(next);
    return true;
  }

  list(query: RequestQuery): StoredRequest[] {
    const { receiver, state, newestFirst = false, limit } = query;
    // Sorts after every id.
    const { after = newestFirst ? "~" : "" } = query;
    const most = Math.min(limit, Number.MAX_SAFE_INTEGER);
    const condition = `id ${newestFirst ? "<" : ">"} ? AND ${conditionOf(state)}
      ORDER BY id ${newestFirst ? "DESC" : "ASC"} LIMIT ?`;
    const sign = newestFirst ? -1 : 1;
    return this.#of(receiver, condition, after, most)
      .sort((one, other) => (one.id < other.id ? -sign : sign))
      .slice(0, most);
  }

  due(receiver: string, until: number, limit: number): StoredRequest[] {
    const due = "settled_at IS NULL AND overdue_at IS NULL AND due_at <= ? ORDER BY due_at LIMIT ?";
    return this.#of(receiver, due, until, limit);
  }

  /** Deletes requests whose retention is over and of which no delivery is kept, at most so many; returns how many. */
  prune({ handledMs }: Retention, now: number, most: number): number {
    const unused =
      "NOT EXISTS (SELECT 1 FROM delivery WHERE receiver = request.receiver AND request = request.id)";
    const isOver = `settled_at < ? AND ${unused} ORDER BY settled_at LIMIT ?`;
    const settled = this.#where(isOver, now - handledMs, most);
    const isGivenUp = `${overdue} AND due_at < ? AND ${unused} LIMIT ?`;
    const given = this.#where(isGivenUp, now - unsettledKeptMs, most - settled.length);
    for (const request of [...settled, ...given]) this.#delete(request);
    return settled.length + given.length;
  }

  #insert(request: StoredRequest): void {
    const { receivers, statement } = this.#deliveries;
    const number = receivers.idOf(request.receiver);
    const { id, idempotencyKey: key, state, dueAt, settledAt, dates } = request;
    const insert = statement("INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    const data = JSON.stringify(request);
    insert.run(number, id, key, state, dueAt, settledAt, dates.overdueAt, data);
    this.#count(number, request, 1);
  }

  #delete(request: StoredRequest): void {
    const { receivers, statement } = this.#deliveries;
    const number = receivers.idOf(request.receiver);
    statement("DELETE FROM request WHERE receiver = ? AND id = ?").run(number, request.id);
    this.#count(number, request, -1);
  }

  #count(receiver: number, { state, settledAt, dates }: StoredRequest, by: 1 | -1): void {
    const { receivers } = this.#deliveries;
    receivers.count(receiver, [`request:${state}`], by);
    const isOverdue = settledAt === null && dates.overdueAt !== null;
    if (isOverdue) receivers.count(receiver, ["request:overdue"], by);
  }

  /** Finds requests of a receiver, or of each. */
  #of(receiver: string | undefined, condition: string, ...values: Value[]): StoredRequest[] {
    return this.#deliveries.receivers
      .select(receiver)
      .flatMap((number) => this.#where(`receiver = ? AND ${condition}`, number, ...values));
  }

  #where(condition: string, ...values: Value[]): StoredRequest[] {
    const select = this.#deliveries.statement(`SELECT data FROM request WHERE ${condition}`);
    return select.all(...values).map(({ data }) => JSON.parse(String(data)));
  }
}

function conditionOf(asked: RequestQuery["state"]): string {
  if (asked === undefined) return "TRUE";
  return asked === "overdue" ? overdue : `state = '${requestStates.find((one) => one === asked)}'`;
}
