import type { EraseQuery } from "@reporthook/core";
import { ActCount, eraseContent, isErased, isOfReport, states } from "@reporthook/core/store";
import type { Row, Statement, Value } from "../../database/driver.ts";
import type { ErasePosition, StepOfErase } from "../../protocol/steps.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Acts } from "./acts.ts";

/** Their bodies are read. */
const rowsPerEraseStep = 50;
/** The states of deliveries whose report may be in their body alone. */
const unread = ["received", "held", "rejected", "dead"] as const;

/** Erases what deliveries of one report or request tell, step by step. */
export class Eraser {
  readonly #deliveries: Deliveries;
  readonly #acts: Acts;
  readonly #byReport: Statement;
  readonly #byRequest: Statement;
  readonly #byState: Statement;
  readonly #findRequest: Statement;
  readonly #eraseRequest: Statement;

  constructor(deliveries: Deliveries, acts: Acts) {
    this.#deliveries = deliveries;
    this.#acts = acts;
    const find = (column: string, rest = ""): Statement =>
      deliveries.tables.database.prepare(
        `SELECT * FROM delivery INDEXED BY delivery_${column}
         WHERE receiver = ? AND ${column} = ? AND id > ? ${rest} ORDER BY id LIMIT ${rowsPerEraseStep}`,
      );
    const prepare = (sql: string): Statement => deliveries.tables.database.prepare(sql);
    this.#findRequest = prepare(
      `SELECT id FROM request WHERE receiver = ? AND id = ?
         AND (context IS NOT NULL OR json_extract(data, '$.report') <> '{}')`,
    );
    this.#eraseRequest = prepare(
      `UPDATE request SET context = NULL, version = version + 1,
         data = json_set(data, '$.report', json('{}'), '$.answer', json('null'))
       WHERE receiver = ? AND id = ?`,
    );
    this.#byReport = find("report");
    this.#byRequest = find("request");
    this.#byState = find("state", "AND report IS NULL");
  }

  /** The next step from a position on; null at first. */
  next(query: EraseQuery, from: ErasePosition | null): StepOfErase {
    const { reportId, requestId, now, dryRun = false } = query;
    const ranges = this.#rangesOf(query);
    const { range, id, number } = from ?? { range: 0, id: "", number: null };
    const [statement, receiver, value, isRead] = ranges[range] ?? [];
    if (statement === undefined) return { count: 0, last: null };
    const rows = statement.all(receiver as number, value as Value, id);
    const step = new ActCount();
    let requests = 0;
    if (from === null && requestId !== undefined) {
      for (const [, of] of ranges) requests += this.#request(of, requestId, dryRun);
    }
    for (const row of rows) {
      const stored = this.#deliveries.storedDeliveryOf(row);
      const isMeant = isRead !== true || isOfReport(stored.body, reportId ?? "");
      if (!isMeant || isErased(stored)) continue;
      step.add(stored);
      if (!dryRun) this.#deliveries.edit(row, now, (one) => eraseContent(one, query));
      if (!dryRun) this.#deliveries.erase(row);
      if (requestId === undefined) {
        requests += this.#request(Number(row["receiver"]), stored.requestId, dryRun);
      }
    }
    const count = step.total + requests;
    const filters = { reportId, requestId };
    const logged = dryRun
      ? null
      : this.#acts.add({ ...query, ...filters, act: "erase" }, count, number);
    const isOver = rows.length < rowsPerEraseStep;
    const next = isOver ? range + 1 : range;
    const after = isOver ? "" : String((rows.at(-1) as Row)["id"]);
    const isEnd = next === ranges.length;
    return { count, last: isEnd ? null : { range: next, id: after, number: logged } };
  }

  /** Erases what is kept of a request; returns 1 if there was something. */
  #request(receiver: number, id: string | null, dryRun: boolean): number {
    if (id === null || this.#findRequest.get(receiver, id) === undefined) return 0;
    if (!dryRun) this.#eraseRequest.run(receiver, id);
    return 1;
  }

  #rangesOf({ receiver, reportId, requestId }: EraseQuery) {
    return this.#deliveries.tables.receivers.select(receiver).flatMap((number) => {
      if (requestId !== undefined) return [[this.#byRequest, number, requestId, false] as const];
      const read = unread.map(
        (state) => [this.#byState, number, states.indexOf(state), true] as const,
      );
      return [[this.#byReport, number, reportId ?? "", false] as const, ...read];
    });
  }
}
