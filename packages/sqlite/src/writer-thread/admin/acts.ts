import type { ActQuery, ActsQuery, LoggedAct } from "@reporthook/core";
import {
  ActCount,
  applyAct,
  loggedActOf,
  maxActs,
  selectionFrom,
  selectorOf,
} from "@reporthook/core/store";
import type { Row, Statement } from "../../database/driver.ts";
import type { ActPosition, Operations } from "../../protocol/operations.ts";
import { isLeased } from "../../protocol/position.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Query } from "./query.ts";

/** One step of an act, from a position on, null at first. It acts on each entry once, even if that is parked again meanwhile. */
export function actStep(
  deliveries: Deliveries,
  query: Query,
  asked: ActQuery,
  from: ActPosition | null,
): ReturnType<Operations["act"]> {
  const { id, number } = from ?? { id: "", number: null };
  const isDry = asked.dryRun === true;
  const { rows, next: after } = query.candidates(asked, id);
  const isSelected = selectorOf({ ...asked, reportId: undefined });
  const step = new ActCount();
  for (const row of rows) {
    const stored = deliveries.storedDeliveryOf(row);
    if (!isSelected(stored) || (asked.act === "retry" && isLeased(row["queue"]))) continue;
    step.add(stored);
    if (!isDry) act(deliveries, asked, row);
  }
  const logged = isDry ? null : logAct(deliveries, asked, step.total, number);
  const next = after === null ? null : { id: after, number: logged };
  return { counts: step.counts, changedAt: step.changedAt, next };
}

function act(deliveries: Deliveries, asked: ActQuery, row: Row): void {
  if (asked.act === "discard") {
    deliveries.remove(row);
    return;
  }
  const begun = asked.act === "release" ? { ...row, starts: 0 } : row;
  deliveries.edit(begun, asked.now, (stored) => applyAct(stored, asked));
}

/** Logs a step of an act that changed so many deliveries; returns the number of the act, which the next step gives again. */
export function logAct(
  { statement, receivers }: Deliveries,
  query: Parameters<typeof loggedActOf>[0],
  count: number,
  number: number | null,
): number | null {
  if (count === 0) return number;
  if (number !== null) {
    statement("UPDATE act SET count = count + ? WHERE number = ?").run(count, number);
    return number;
  }
  const { receiver } = query;
  const of = receiver === undefined ? null : receivers.idOf(receiver);
  const last = statement("SELECT max(number) AS number FROM act").get()?.["number"];
  const added = Number(last ?? 0) + 1;
  const { selection, ...logged } = loggedActOf(query, count);
  const data = JSON.stringify({ ...logged, selection: JSON.stringify(selection) });
  const add = statement("INSERT INTO act (number, receiver, data, count) VALUES (?, ?, ?, ?)");
  add.run(added, of, data, count);
  statement("DELETE FROM act WHERE number <= ?").run(added - maxActs);
  return added;
}

/** The last acts, newest first. */
export function listActs(
  { statement, receivers }: Deliveries,
  { receiver, limit = 100 }: ActsQuery = {},
): LoggedAct[] {
  const most = Math.min(limit, maxActs);
  const select = (where: string): Statement =>
    statement(`SELECT data, count FROM act ${where} ORDER BY number DESC LIMIT ?`);
  const ofOne = "WHERE receiver IS NULL OR receiver = ?";
  const rows =
    receiver === undefined
      ? select("").all(most)
      : receivers.select(receiver).flatMap((of) => select(ofOne).all(of, most));
  return rows.map(({ data, count }) => {
    const { at, selection, ...rest } = JSON.parse(String(data));
    return { ...rest, at: new Date(at), selection: selectionFrom(selection), count: Number(count) };
  });
}
