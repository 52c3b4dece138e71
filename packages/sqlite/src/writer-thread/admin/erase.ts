import type { EraseQuery } from "@reporthook/core";
import {
  ActCount,
  eraseContent,
  isErased,
  isOfReport,
  isUnsigned,
  type StoredDelivery,
  states,
} from "@reporthook/core/store";
import type { Row, Value } from "../../database/driver.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { CallStep, ErasePosition } from "../../protocol/steps.ts";
import type { Deliveries, Tables } from "../deliveries.ts";
import { logAct } from "./acts.ts";

/** Their bodies are read. */
const rowsPerEraseStep = 50;

/** Deliveries of a receiver with one value in a column: all of them, those whose body names the report, or all others. */
interface Range {
  readonly receiver: number;
  readonly column: "report" | "request" | "state" | "kept_as";
  readonly value: Value;
  readonly how: "all" | "by body" | "others";
}

/** The states of deliveries whose report may be in their body alone. */
const unread = ["received", "verified", "held", "rejected", "dead"] as const;

/** One step of erasing what deliveries of one report or request tell, from a position on; null at first. */
export function eraseStep(
  deliveries: Deliveries,
  query: EraseQuery,
  from: ErasePosition | null,
): CallStep<{ readonly count: number }, ErasePosition> {
  const { tables } = deliveries;
  const { reportId, now, dryRun = false } = query;
  const ranges = rangesOf(query, tables.receivers.select(query.receiver));
  const { range: at, id, number } = from ?? { range: 0, id: "", number: null };
  const range = ranges[at];
  if (range === undefined) return { count: 0, next: null };
  const rows = rowsIn(range, id, tables);
  const step = new ActCount();
  for (const row of rows) {
    const stored = deliveries.storedDeliveryOf(row);
    if (!isMeant(stored, range.how, reportId) || isErased(stored)) continue;
    step.add(stored);
    if (!dryRun) deliveries.edit(row, now, (one) => eraseContent(one, query));
    if (!dryRun) deliveries.erase(row);
  }
  const { requestIds: _, ...asked } = query;
  const logged = dryRun ? null : logAct(tables, { ...asked, act: "erase" }, step.total, number);
  const isOver = rows.length < rowsPerEraseStep;
  const after = isOver ? "" : String((rows.at(-1) as Row)["id"]);
  const next = { range: isOver ? at + 1 : at, id: after, number: logged };
  return { count: step.total, next: next.range === ranges.length ? null : next };
}

function rangesOf(
  { reportId = "", requestId, requestIds = [] }: EraseQuery,
  receivers: readonly number[],
): Range[] {
  return receivers.flatMap((receiver) => {
    const range = (column: Range["column"], value: Value, how: Range["how"]): Range => ({
      receiver,
      column,
      value,
      how,
    });
    if (requestId !== undefined) return [range("request", requestId, "all")];
    return [
      range("report", reportId, "all"),
      ...unread.map((state) => range("state", states.indexOf(state), "by body")),
      range("kept_as", retentionClass.unsignedHandled, "by body"),
      ...requestIds.map((id) => range("request", id, "others")),
    ];
  });
}

function rowsIn({ receiver, column, value, how }: Range, after: string, { statement }: Tables) {
  return statement(
    `SELECT * FROM delivery INDEXED BY delivery_${column === "kept_as" ? "ended" : column}
     WHERE receiver = ? AND ${column} = ? AND id > ? ${how === "by body" ? "AND report IS NULL" : ""}
     ORDER BY id LIMIT ${rowsPerEraseStep}`,
  ).all(receiver, value, after);
}

/** Whether a delivery of a range is meant, and in no range before it. */
function isMeant(stored: StoredDelivery, how: Range["how"], reportId = ""): boolean {
  if (how === "all") return true;
  const isUnread = unread.some((state) => state === stored.state) || isUnsigned(stored);
  const names = stored.reportId === null && isUnread && isOfReport(stored.body, reportId);
  return how === "by body" ? names : stored.reportId !== reportId && !names;
}
