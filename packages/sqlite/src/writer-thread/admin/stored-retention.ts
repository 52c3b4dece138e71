import { type Retention, retentionOf } from "@reporthook/core/store";
import type { Database, Statement } from "../../database/driver.ts";
import { sqliteCode } from "../../database/result-code.ts";

/** The retention in the file: that of the app which opened it last. Tools keep to it. */
export class StoredRetention {
  readonly #select: Statement;
  readonly #replace: Statement;
  /** The app's, until it is in the file. */
  #given: Retention | null;

  /** `given` is written into the file; null for a tool. */
  constructor(database: Database, given: Retention | null) {
    this.#select = database.prepare("SELECT handled_ms, parked_ms FROM retention");
    this.#replace = database.prepare(
      "INSERT OR REPLACE INTO retention (rowid, handled_ms, parked_ms) VALUES (1, ?, ?)",
    );
    this.#given = given;
    try {
      this.#write();
      this.#given = null;
    } catch (error) {
      // It is written before anything is deleted.
      if (!["BUSY", "FULL"].includes(sqliteCode(error) ?? "")) throw error;
    }
  }

  /** The retention by which to prune: the defaults, if no app has written one. */
  read(): Retention {
    this.#write();
    const row = this.#select.get();
    if (row === undefined) return retentionOf("sqliteInbox");
    return { handledMs: Number(row["handled_ms"]), parkedMs: Number(row["parked_ms"]) };
  }

  #write(): void {
    if (this.#given === null) return;
    const { handledMs, parkedMs } = this.#given;
    const { handled_ms, parked_ms } = this.#select.get() ?? {};
    // Not before it is seen in the file: the transaction may fail.
    if (handled_ms === handledMs && parked_ms === parkedMs) this.#given = null;
    else this.#replace.run(handledMs, parkedMs);
  }
}
