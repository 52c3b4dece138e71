import type { Database } from "./driver.ts";
import { ever } from "./tally.ts";

/** The last number that was given to a delivery of this file: never again to another, for the dedupe window tells them apart by it. */
export function lastNumber(database: Database): number {
  const given = database.prepare("SELECT sum(number) AS last FROM tally WHERE kind = ?");
  return Number(given.get(ever)?.["last"] ?? 0);
}
