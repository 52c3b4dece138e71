import type { EraseQuery, InboxQuery } from "@reporthook/core";
import {
  ActCount,
  applyErasing,
  isChosen,
  isErased,
  isOfReport,
  isUnsigned,
  type StoredDelivery,
  states,
} from "@reporthook/core/store";
import type { ErasePosition, Operations } from "../../protocol/operations.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import { logAct } from "./acts.ts";
import { findRows, type Part } from "./rows.ts";

/** Their bodies are read. */
const rowsPerEraseStep = 50;

/** The deliveries of a state, a report or a request: all of them, those whose body names the report, or all others. */
interface Range {
  readonly asked: Pick<InboxQuery, "state" | "reportId" | "requestId">;
  readonly how: "all" | "by body" | "others";
}

/** The states of deliveries whose report may be in their body alone, in their order: one that is read meanwhile is found later. */
const unread = ["received", "verified", "held", "rejected", "dead"] as const;
const unsignedHandled: Range = { asked: { state: "handled" }, how: "by body" };

/** One step of erasing what deliveries of one report or request tell, from a position on; null at first. */
export function eraseStep(
  deliveries: Deliveries,
  query: EraseQuery,
  from: ErasePosition | null,
): ReturnType<Operations["erase"]> {
  const { reportId, now, dryRun = false } = query;
  const ranges = rangesOf(query);
  const { range: at, id, number } = from ?? { range: 0, id: "", number: null };
  const range = ranges[at] ?? unsignedHandled;
  const { rows, next: after } = rowsIn(range, { receiver: query.receiver, after: id }, deliveries);
  const step = new ActCount();
  for (const row of rows) {
    const stored = deliveries.storedDeliveryOf(row);
    if (!isMeant(stored, range.how, reportId) || isErased(stored)) continue;
    step.add(stored);
    if (!dryRun) deliveries.edit(row, now, (one) => applyErasing(one, query));
    if (!dryRun) deliveries.drop(row, "context = NULL");
  }
  const { requestIds: _, ...asked } = query;
  const logged = dryRun ? null : logAct(deliveries, { ...asked, act: "erase" }, step.total, number);
  const next = { range: after === null ? at + 1 : at, id: after ?? "", number: logged };
  return { count: step.total, next: next.range >= ranges.length ? null : next };
}

function rangesOf({ reportId = "", requestId, requestIds = [] }: EraseQuery): Range[] {
  if (requestId !== undefined) return [{ asked: { requestId }, how: "all" }];
  return [
    ...unread.map((state): Range => ({ asked: { state }, how: "by body" })),
    unsignedHandled,
    { asked: { reportId }, how: "all" },
    ...requestIds.map((id): Range => ({ asked: { requestId: id }, how: "others" })),
  ];
}

function rowsIn(range: Range, query: InboxQuery, deliveries: Deliveries): Part {
  const most = rowsPerEraseStep;
  if (range !== unsignedHandled) {
    const chosen = states.filter((state) => isChosen(state, range.asked.state));
    const asked = { ...query, ...range.asked };
    return findRows(deliveries, { query: asked, states: chosen, most, columns: "*" });
  }
  const rows = deliveries
    .statement(
      `SELECT * FROM delivery INDEXED BY delivery_ended
       WHERE kept_as = ${retentionClass.unsignedHandled} AND id > ? ORDER BY id LIMIT ${most}`,
    )
    .all(query.after ?? "");
  const selected = deliveries.receivers.select(query.receiver);
  const ofReceivers = rows.filter(({ receiver }) => selected.includes(Number(receiver)));
  return { rows: ofReceivers, next: rows.length < most ? null : String(rows.at(-1)?.["id"]) };
}

/** Whether a delivery of a range is meant, and in no range before it. */
function isMeant(stored: StoredDelivery, how: Range["how"], reportId = ""): boolean {
  if (how === "all") return true;
  const isUnread = unread.some((state) => state === stored.state) || isUnsigned(stored);
  const names = stored.reportId === null && isUnread && isOfReport(stored.body, reportId);
  return how === "by body" ? names : stored.reportId !== reportId && !names;
}
