import { type Retention, retentionOf } from "@reporthook/core/store";
import { sqliteCode } from "../../database/result-code.ts";
import type { Deliveries } from "../deliveries.ts";

/**
 * Gives the retention in the file, by which to prune: that of the app which opened it last, or the defaults. `given` is written
 * into it; null for a tool.
 */
export function storedRetention(
  { statement }: Deliveries,
  given: Retention | null,
): () => Retention {
  let unwritten = given;
  const read = (): Retention => {
    const select = statement(
      "SELECT handled_ms AS handledMs, parked_ms AS parkedMs FROM retention",
    );
    const stored = (select.get() as Retention | undefined) ?? retentionOf("sqliteInbox");
    if (unwritten === null) return stored;
    const { handledMs, parkedMs } = unwritten;
    const replace = statement(
      "INSERT OR REPLACE INTO retention (rowid, handled_ms, parked_ms) VALUES (1, ?, ?)",
    );
    // Not before it is seen in the file: the transaction may fail.
    if (stored.handledMs === handledMs && stored.parkedMs === parkedMs) unwritten = null;
    else replace.run(handledMs, parkedMs);
    return { handledMs, parkedMs };
  };
  try {
    read();
    unwritten = null;
  } catch (error) {
    // It is written before anything is deleted.
    if (!["BUSY", "FULL"].includes(sqliteCode(error) ?? "")) throw error;
  }
  return read;
}
