import type { ErrorsQuery } from "@reporthook/core";
import { isChosen, type SomeOfGroup, timeOf } from "@reporthook/core/store";
import type { ErrorsPosition, Operations } from "../../protocol/operations.ts";
import { reasonOf, stateOf } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";

/** Few enough for some milliseconds: the thread stores between two steps. */
const rowsPerErrorStep = 1_000;

/** One step of grouping deliveries by their errors, from a position on, null at first; through an index that has all it needs. */
export function errorStep(
  { statement, receivers }: Deliveries,
  { receiver, state = "parked" }: ErrorsQuery,
  from: ErrorsPosition | null,
): ReturnType<Operations["errors"]> {
  const selected = receivers.select(receiver).sort((one, other) => one - other);
  const of = from?.receiver ?? selected[0];
  if (of === undefined) return { groups: [], next: null };
  const rows = statement(
    `SELECT error, state, reason, count(*) AS number, min(id) AS oldest, max(id) AS newest
     FROM (SELECT error, state, reason, id FROM delivery INDEXED BY delivery_error
       WHERE receiver = ? AND error IS NOT NULL AND (error, id) > (?, ?)
       ORDER BY error, id LIMIT ${rowsPerErrorStep})
     GROUP BY error, state, reason`,
  ).all(of, from?.error ?? "", from?.id ?? "");
  const textOf = statement(
    "SELECT last_error FROM delivery INDEXED BY delivery_error WHERE receiver = ? AND error = ? AND id = ?",
  );
  const groups: SomeOfGroup[] = [];
  let looked = 0;
  let last: ErrorsPosition = { receiver: of, error: "", id: "" };
  for (const row of rows) {
    const error = String(row["error"]);
    const newest = String(row["newest"]);
    const count = Number(row["number"]);
    const found = stateOf(row);
    looked += count;
    if (error > last.error || newest > last.id) last = { receiver: of, error, id: newest };
    if (!isChosen(found, state)) continue;
    const text = textOf.get(of, error, newest)?.["last_error"];
    groups.push({
      error,
      reason: reasonOf(row)?.code ?? found,
      count,
      oldest: timeOf(String(row["oldest"])),
      newest: timeOf(newest),
      text: text === undefined ? null : String(text),
    });
  }
  if (looked === rowsPerErrorStep) return { groups, next: last };
  const other = selected.find((number) => number > of);
  return { groups, next: other === undefined ? null : { receiver: other, error: "", id: "" } };
}
