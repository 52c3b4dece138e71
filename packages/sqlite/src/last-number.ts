import type { Database } from "./driver.ts";

/** The last number that was given to a delivery of this file. */
export function lastNumber(database: Database): number {
  return Number(database.prepare("SELECT last FROM numbered").get()?.["last"] ?? 0);
}
