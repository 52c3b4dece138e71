import { type Retention, retentionOf } from "@reporthook/core/store";
import type { Database, Statement } from "../../database/driver.ts";

/** The retention in the file: that of the app which opened it last. Tools keep to it. */
export class StoredRetention {
  readonly #select: Statement;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.#select = database.prepare("SELECT handled_ms, parked_ms FROM retention");
  }

  /** The defaults, if no app has written one. */
  read(): Retention {
    const row = this.#select.get();
    if (row === undefined) return retentionOf("sqliteInbox");
    return { handledMs: Number(row["handled_ms"]), parkedMs: Number(row["parked_ms"]) };
  }

  /** Writes it, unless it is there already: then the file may be full, or held by another process. */
  write({ handledMs, parkedMs }: Retention): void {
    const { handled_ms, parked_ms } = this.#select.get() ?? {};
    if (handled_ms === handledMs && parked_ms === parkedMs) return;
    this.#database
      .prepare("INSERT OR REPLACE INTO retention (rowid, handled_ms, parked_ms) VALUES (1, ?, ?)")
      .run(handledMs, parkedMs);
  }
}
