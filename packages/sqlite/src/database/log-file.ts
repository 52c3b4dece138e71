import { statSync } from "node:fs";
import type { Database, Driver } from "./driver.ts";
import { hasWalResetBug, sqliteVersion } from "./version.ts";

/** A log of this many pages is brought into the file: 2 MB hold up nobody for long, 40 would, for a tenth of a second. */
const maxPages = 500;
/** The pages that a transaction writes besides bodies: a few rows and their places in the indexes. */
const pagesPerCommit = 8;
const pageBytes = 4_096;
/** The size of the log file once nobody needs more of it. */
const maxBytes = 4 * 1_024 * 1_024;
const shrinkMs = 5_000;

/**
 * The log beside the file. Where SQLite has the WAL-reset bug, a checkpoint must not meet a commit that starts the log over.
 * There SQLite makes none by itself: this does, while a second connection reads. For as long as one reads the log, no
 * connection of whatever version starts it over.
 */
export class LogFile {
  readonly #database: Database;
  readonly #path: string;
  readonly #reader: Database | null;
  #pages = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** To be made before anything is written. */
  constructor(database: Database, driver: Pick<Driver, "open">, path: string) {
    this.#database = database;
    this.#path = path;
    const isAffected = hasWalResetBug(sqliteVersion(database));
    this.#reader = isAffected ? driver.open(path) : null;
    database.exec(`PRAGMA wal_autocheckpoint = ${isAffected ? 0 : maxPages}`);
    database.exec(`PRAGMA journal_size_limit = ${maxBytes}`);
  }

  /** Takes in a commit, with the bytes that came for it. */
  committed(bytes: number): void {
    if (this.#reader === null) return;
    this.#pages += pagesPerCommit + Math.ceil(bytes / pageBytes);
    if (this.#pages < maxPages) return;
    this.#pages = 0;
    this.#checkpoint(this.#reader);
  }

  /** Cuts the file, which a reader that held on to the log has let grow, once it is gone; `now` in monotonic milliseconds. */
  shrink(now: number): void {
    if (now - this.#lookedAt < shrinkMs) return;
    this.#lookedAt = now;
    const log = statSync(`${this.#path}-wal`, { throwIfNoEntry: false });
    if (log === undefined || log.size <= 2 * maxBytes || !this.#checkpoint(this.#reader)) return;
    try {
      // The first write after that starts the log over, and cuts it.
      this.#database.exec("BEGIN IMMEDIATE; INSERT INTO owner VALUES (0, 0)");
      this.#database.exec("DELETE FROM owner WHERE number = 0; COMMIT");
    } catch {
      this.#rollBack(this.#database);
    }
  }

  close(): void {
    this.#reader?.close();
  }

  /** Brings the log into the file as far as nobody reads it; returns whether that is all of it. */
  #checkpoint(reader: Database | null): boolean {
    try {
      reader?.exec("BEGIN");
      // This begins to read.
      reader?.prepare("SELECT count(*) AS tables FROM sqlite_master").get();
      const row = this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      return row?.["busy"] === 0 && row["log"] === row["checkpointed"];
    } catch {
      // As with SQLite's own: what is committed is safe in the log, and the next one tries again.
      return false;
    } finally {
      if (reader !== null) this.#rollBack(reader);
    }
  }

  #rollBack(database: Database): void {
    try {
      database.exec("ROLLBACK");
    } catch {
      // There was no transaction.
    }
  }
}
