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
  readonly #ofRequest: Statement;
  readonly #ofReport: Statement;

  constructor(deliveries: Deliveries, acts: Acts) {
    this.#deliveries = deliveries;
    this.#acts = acts;
    const find = (column: string, rest = ""): Statement =>
      deliveries.tables.database.prepare(
        `SELECT * FROM delivery INDEXED BY delivery_${column}
         WHERE receiver = ? AND ${column} = ? AND id > ? ${rest} ORDER BY id LIMIT ${rowsPerEraseStep}`,
      );
    this.#byReport = find("report");
    this.#byRequest = find("request");
    this.#byState = find("state", "AND report IS NULL");
    const forget =
      "UPDATE request SET context = NULL, version = version + 1 WHERE receiver = ?1 AND id";
    this.#ofRequest = deliveries.tables.database.prepare(`${forget} = ?2`);
    this.#ofReport = deliveries.tables.database.prepare(
      `${forget} IN (SELECT request FROM delivery INDEXED BY delivery_report WHERE receiver = ?1 AND report = ?2)`,
    );
  }

  /** The next step from a position on; null at first. */
  next(query: EraseQuery, from: ErasePosition | null): StepOfErase {
    const { reportId, requestId, now, dryRun = false } = query;
    const ranges = this.#rangesOf(query);
    const { range, id, number } = from ?? { range: 0, id: "", number: null };
    const [statement, receiver, value, isRead] = ranges[range] ?? [];
    if (statement === undefined) return { count: 0, last: null };
    if (from === null && !dryRun) this.#eraseRequests(query);
    const rows = statement.all(receiver as number, value as Value, id);
    const step = new ActCount();
    for (const row of rows) {
      const stored = this.#deliveries.storedDeliveryOf(row);
      const isMeant = isRead !== true || isOfReport(stored.body, reportId ?? "");
      if (!isMeant || isErased(stored)) continue;
      step.add(stored);
      if (!dryRun) this.#deliveries.edit(row, now, (one) => eraseContent(one, query));
      if (!dryRun) this.#deliveries.erase(row);
    }
    const filters = { reportId, requestId };
    const logged = dryRun
      ? null
      : this.#acts.add({ ...query, ...filters, act: "erase" }, step.total, number);
    const isOver = rows.length < rowsPerEraseStep;
    const next = isOver ? range + 1 : range;
    const after = isOver ? "" : String((rows.at(-1) as Row)["id"]);
    const isEnd = next === ranges.length;
    return { count: step.total, last: isEnd ? null : { range: next, id: after, number: logged } };
  }

  /** Removes the contexts of the requests, which are kept with them. */
  #eraseRequests({ receiver, reportId = "", requestId }: EraseQuery): void {
    const statement = requestId === undefined ? this.#ofReport : this.#ofRequest;
    for (const number of this.#deliveries.tables.receivers.select(receiver)) {
      statement.run(number, requestId ?? reportId);
    }
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
