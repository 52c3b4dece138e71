import { type Retention, retentionOf } from "@reporthook/core/store";
import type { Statements } from "../../database/driver.ts";
import { sqliteCode } from "../../database/result-code.ts";
import type { Deliveries } from "../deliveries.ts";

/** The retention in the file: that of the app which opened it last. Tools keep to it. */
export class StoredRetention {
  readonly #statement: Statements;
  /** The app's, until it is in the file. */
  #given: Retention | null;

  /** `given` is written into the file; null for a tool. */
  constructor({ statement }: Deliveries, given: Retention | null) {
    this.#statement = statement;
    this.#given = given;
    try {
      this.read();
      this.#given = null;
    } catch (error) {
      // It is written before anything is deleted.
      if (!["BUSY", "FULL"].includes(sqliteCode(error) ?? "")) throw error;
    }
  }

  /** The retention by which to prune: the defaults, if no app has written one. */
  read(): Retention {
    const select = this.#statement(
      "SELECT handled_ms AS handledMs, parked_ms AS parkedMs FROM retention",
    );
    const stored = (select.get() as Retention | undefined) ?? retentionOf("sqliteInbox");
    const given = this.#given;
    if (given === null) return stored;
    const { handledMs, parkedMs } = given;
    const replace = this.#statement(
      "INSERT OR REPLACE INTO retention (rowid, handled_ms, parked_ms) VALUES (1, ?, ?)",
    );
    // Not before it is seen in the file: the transaction may fail.
    if (stored.handledMs === handledMs && stored.parkedMs === parkedMs) this.#given = null;
    else replace.run(handledMs, parkedMs);
    return given;
  }
}
