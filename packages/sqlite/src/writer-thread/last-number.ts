import type { Database } from "../database/driver.ts";
import { ever } from "./counters.ts";

/** The last number that was given to a delivery of this file: never again to another, for the dedupe window tells them apart by it. */
export function lastNumber(database: Database): number {
  const given = database.prepare("SELECT sum(number) AS last FROM tally WHERE kind = ?");
  return Number(given.get(ever)?.["last"] ?? 0);
}
