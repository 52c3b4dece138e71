import type { InboxQuery, State } from "@reporthook/core";
import { idRange, states } from "@reporthook/core/store";
import type { Row, Value } from "../../database/driver.ts";
import { inIndexOfStates } from "../../database/schema.ts";
import { queues } from "../../protocol/position.ts";
import type { Deliveries } from "../deliveries.ts";

/** The handled ones that one step looks at: few enough for some milliseconds, in which the thread stores nothing. */
const lookedAt = 20_000;
const isHandled = `state = ${states.indexOf("handled")}`;

/** Which rows to find. */
export interface Wanted {
  readonly query: InboxQuery;
  readonly states: readonly State[];
  readonly most: number;
  readonly columns: string;
}

/** Some of the rows that are wanted, in the order of the query, and the id after which the rest begins; null if there is none. */
export interface Part {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/** Rows that are next to each other in an index, in the order of their ids. */
interface Range {
  readonly index: string;
  readonly conditions: readonly string[];
  readonly values: readonly Value[];
}

/** Finds the next rows through indexes, at most so many as are wanted. */
export function findRows(deliveries: Deliveries, wanted: Wanted): Part {
  const { query, most } = wanted;
  const ranges = rangesOf(deliveries, wanted);
  const span = spanOf(deliveries, ranges, query);
  const parts = ranges.map((range) => rowsIn(deliveries, range, span, wanted));
  const inOrder = (one: string, other: string): number =>
    one < other === (query.newestFirst === true) ? 1 : -1;
  // After the first end, rows of that range are missing.
  const [end = null] = parts.flatMap(({ next }) => next ?? []).sort(inOrder);
  const rows = parts
    .flatMap((part) => part.rows)
    .filter(({ id }) => end === null || id === end || inOrder(String(id), end) < 0)
    .sort((one, other) => inOrder(String(one["id"]), String(other["id"])));
  return rows.length > most ? partOf(rows.slice(0, most), most) : { rows, next: end };
}

/** Counts the rows in a state that a query finds. */
export function countRows(deliveries: Deliveries, query: InboxQuery, state: State): number {
  const { first, below } = idRange(query);
  const numbers = rangesOf(deliveries, { query, states: [state] }).map(
    ({ index, conditions, values }) => {
      const count = deliveries.statement(
        `SELECT count(*) AS number FROM delivery INDEXED BY delivery_${index}
         WHERE ${conditions.join(" AND ")} AND id >= ? AND id < ?`,
      );
      return Number(count.get(...values, first, below)?.["number"]);
    },
  );
  return numbers.reduce((sum, number) => sum + number, 0);
}

function rangesOf(
  { receivers }: Deliveries,
  { query, states: chosen }: Pick<Wanted, "query" | "states">,
): Range[] {
  if (chosen.length === 0) return [];
  const selected = receivers.select(query.receiver);
  const filters = filtersOf(query);
  const [filter] = filters;
  const range = (index: string, first: readonly string[], ...values: Value[]): Range => ({
    index,
    conditions: [...first, ...filters.map(({ column }) => `${column} = ?`)],
    values: [...values, ...filters.map(({ value }) => value)],
  });
  if (filter !== undefined && filter.column !== "type") {
    const isChosen = `state IN (${chosen.map((state) => states.indexOf(state)).join(", ")})`;
    return selected.map((one) => range(filter.column, [isChosen, "receiver = ?"], one));
  }
  // Their index does not begin with the receiver.
  const isAll = selected.length === receivers.select(undefined).length;
  const handled = isAll
    ? [range("handled", [isHandled])]
    : selected.map((one) => range("handled", [isHandled, "receiver = ?"], one));
  return chosen.flatMap((state) => {
    if (state === "handled") return handled;
    const conditions = ["receiver = ?", inIndexOfStates, "state = ?"];
    const number = states.indexOf(state);
    const ofState = selected.map((one) => range("state", conditions, one, number));
    if (state !== "received" && state !== "verified") return ofState;
    const { leased } = queues[state === "received" ? "verify" : "handle"];
    const inQueue = ["receiver = ?", "queue = ?"];
    return [...ofState, ...selected.map((one) => range("queue", inQueue, one, leased))];
  });
}

/** The ids that one step looks at, and the last of them if more may follow. */
function spanOf({ statement }: Deliveries, ranges: readonly Range[], query: InboxQuery) {
  const { first, below } = idRange(query);
  const isInVain = ranges.some(({ index, values }) => index === "handled" && values.length > 0);
  const found = isInVain
    ? statement(
        `SELECT id FROM delivery INDEXED BY delivery_handled
         WHERE ${isHandled} AND ${inOrderOfIds(query)} 1 OFFSET ${lookedAt - 1}`,
      ).get(first, below)
    : undefined;
  if (found === undefined) return { first, below, last: null };
  const last = String(found["id"]);
  // With a space, which sorts before each other character: up to the last one itself.
  return query.newestFirst ? { first: last, below, last } : { first, below: `${last} `, last };
}

function rowsIn(
  { statement }: Deliveries,
  { index, conditions, values }: Range,
  { first, below, last }: ReturnType<typeof spanOf>,
  { query, most, columns }: Wanted,
): Part {
  const rows = statement(
    `SELECT ${columns} FROM delivery INDEXED BY delivery_${index}
     WHERE ${conditions.join(" AND ")} AND ${inOrderOfIds(query)} ?`,
  ).all(...values, first, below, most);
  return rows.length < most ? { rows, next: last } : partOf(rows, most);
}

function inOrderOfIds({ newestFirst = false }: InboxQuery): string {
  return `id >= ? AND id < ? ORDER BY id ${newestFirst ? "DESC" : "ASC"} LIMIT`;
}

/** A part that goes on after its last row, if it has as many as are wanted. */
function partOf(rows: readonly Row[], most: number): Part {
  return { rows, next: rows.length === most ? String(rows.at(-1)?.["id"]) : null };
}

/** The values that a query asks for, those first that the fewest rows have. */
function filtersOf({ requestId, reportId, error, reason, type }: InboxQuery) {
  const values = { request: requestId, report: reportId, error, reason, type };
  return Object.entries(values).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }],
  );
}
