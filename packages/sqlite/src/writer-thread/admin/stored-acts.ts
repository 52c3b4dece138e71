import type { ActsQuery, LoggedAct } from "@reporthook/core";
import { loggedActOf, maxActs, selectionFrom } from "@reporthook/core/store";
import type { Tables } from "../deliveries.ts";

/** Logs a step of an act that changed so many deliveries; returns the number of the act, which the next step gives again. */
export function logAct(
  { statement, receivers }: Tables,
  query: Parameters<typeof loggedActOf>[0],
  count: number,
  number: number | null,
): number | null {
  if (count === 0) return number;
  if (number !== null) {
    statement("UPDATE act SET count = count + ? WHERE number = ?").run(count, number);
    return number;
  }
  const { at, by, act, selection } = loggedActOf(query, count);
  const { receiver } = query;
  const of = receiver === undefined ? null : receivers.idOf(receiver);
  const last = statement("SELECT max(number) AS number FROM act").get()?.["number"];
  const added = Number(last ?? 0) + 1;
  statement(
    "INSERT INTO act (number, receiver, at, act, by, selection, count) VALUES (?, ?, ?, ?, ?, ?, ?)",
  ).run(added, of, at.getTime(), act, by, JSON.stringify(selection), count);
  statement("DELETE FROM act WHERE number <= ?").run(added - maxActs);
  return added;
}

/** The last acts, newest first. */
export function listActs(
  { statement, receivers }: Tables,
  { receiver, limit = 100 }: ActsQuery,
): LoggedAct[] {
  const most = Math.min(limit, maxActs);
  const select = "SELECT at, act, by, selection, count FROM act";
  const rows =
    receiver === undefined
      ? statement(`${select} ORDER BY number DESC LIMIT ?`).all(most)
      : receivers
          .select(receiver)
          .flatMap((of) =>
            statement(
              `${select} WHERE receiver IS NULL OR receiver = ? ORDER BY number DESC LIMIT ?`,
            ).all(of, most),
          );
  return rows.map(({ at, by, act, selection, count }) => ({
    at: new Date(Number(at)),
    by: by as string | null,
    act: act as LoggedAct["act"],
    selection: selectionFrom(String(selection)),
    count: Number(count),
  }));
}
