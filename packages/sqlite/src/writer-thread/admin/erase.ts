import type { EraseQuery } from "@reporthook/core";
import {
  ActCount,
  eraseContent,
  isErased,
  isOfReport,
  type StoredDelivery,
  states,
} from "@reporthook/core/store";
import type { Row, Statement, Value } from "../../database/driver.ts";
import type { ErasePosition, StepOfErase } from "../../protocol/steps.ts";
import type { Deliveries } from "../deliveries.ts";
import type { StoredActs } from "./stored-acts.ts";

/** Their bodies are read. */
const rowsPerEraseStep = 50;

/** Deliveries of a receiver with one value: all of them, those whose body names the report, or all others. */
type Range = readonly [Statement, receiver: number, Value, how: "all" | "by body" | "others"];

/** The states of deliveries whose report may be in their body alone. */
const unread = ["received", "held", "rejected", "dead"] as const;

/** Erases what deliveries of one report or request tell, step by step. */
export class Eraser {
  readonly #deliveries: Deliveries;
  readonly #log: StoredActs;
  readonly #byReport: Statement;
  readonly #byRequest: Statement;
  readonly #byState: Statement;

  constructor(deliveries: Deliveries, log: StoredActs) {
    this.#deliveries = deliveries;
    this.#log = log;
    const find = (column: string, rest = ""): Statement =>
      deliveries.tables.database.prepare(
        `SELECT * FROM delivery INDEXED BY delivery_${column}
         WHERE receiver = ? AND ${column} = ? AND id > ? ${rest} ORDER BY id LIMIT ${rowsPerEraseStep}`,
      );
    this.#byReport = find("report");
    this.#byRequest = find("request");
    this.#byState = find("state", "AND report IS NULL");
  }

  /** The next step from a position on; null at first. */
  next(query: EraseQuery, from: ErasePosition | null): StepOfErase {
    const { reportId, now, dryRun = false } = query;
    const ranges = this.#rangesOf(query);
    const { range, id, number } = from ?? { range: 0, id: "", number: null };
    const [statement, receiver, value, how] = ranges[range] ?? [];
    if (statement === undefined) return { count: 0, next: null };
    const rows = statement.all(receiver as number, value as Value, id);
    const step = new ActCount();
    for (const row of rows) {
      const stored = this.#deliveries.storedDeliveryOf(row);
      if (!isMeant(stored, how, reportId) || isErased(stored)) continue;
      step.add(stored);
      if (!dryRun) this.#deliveries.edit(row, now, (one) => eraseContent(one, query));
      if (!dryRun) this.#deliveries.erase(row);
    }
    const { requestIds: _, ...asked } = query;
    const logged = dryRun ? null : this.#log.add({ ...asked, act: "erase" }, step.total, number);
    const isOver = rows.length < rowsPerEraseStep;
    const after = isOver ? "" : String((rows.at(-1) as Row)["id"]);
    const position = { range: isOver ? range + 1 : range, id: after, number: logged };
    return { count: step.total, next: position.range === ranges.length ? null : position };
  }

  #rangesOf({ receiver, reportId, requestId, requestIds = [] }: EraseQuery): Range[] {
    return this.#deliveries.tables.receivers.select(receiver).flatMap((number): Range[] => {
      if (requestId !== undefined) return [[this.#byRequest, number, requestId, "all"]];
      const read = unread.map(
        (state): Range => [this.#byState, number, states.indexOf(state), "by body"],
      );
      const others = requestIds.map((id): Range => [this.#byRequest, number, id, "others"]);
      return [[this.#byReport, number, reportId ?? "", "all"], ...read, ...others];
    });
  }
}

/** Whether a delivery of a range is meant, and in no range before it. */
function isMeant(stored: StoredDelivery, how: Range[3] = "all", reportId = ""): boolean {
  if (how === "all") return true;
  const isUnread = stored.reportId === null && unread.some((state) => state === stored.state);
  const names = isUnread && isOfReport(stored.body, reportId);
  return how === "by body" ? names : stored.reportId !== reportId && !names;
}
