import type { Notes } from "@reporthook/core";
import type { Database, Statement } from "../database/driver.ts";
import type { KeptNotes } from "../protocol/steps.ts";

/** The notes of receivers. */
export class StoredNotes {
  readonly #find: Statement;
  readonly #keep: Statement;
  readonly #delete: Statement;

  constructor(database: Database) {
    this.#find = database.prepare(
      "SELECT key, text FROM note WHERE receiver = ? AND key >= ? AND key < ?",
    );
    this.#keep = database.prepare(
      "INSERT OR REPLACE INTO note (receiver, key, text) VALUES (?, ?, ?)",
    );
    this.#delete = database.prepare("DELETE FROM note WHERE receiver = ? AND key = ?");
  }

  find(receiver: string, prefix: string): Notes {
    // A tilde sorts after every character of a key.
    const rows = this.#find.all(receiver, prefix, `${prefix}~`);
    return Object.fromEntries(rows.map(({ key, text }) => [String(key), String(text)]));
  }

  keep(receiver: string, notes: KeptNotes): void {
    for (const [key, text] of Object.entries(notes)) {
      if (text === null) this.#delete.run(receiver, key);
      else this.#keep.run(receiver, key, text);
    }
  }
}
