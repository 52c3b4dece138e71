import { statSync } from "node:fs";
import { type Database, type Driver, rollBack } from "./driver.ts";
import { hasWalResetBug, sqliteVersion } from "./version.ts";

/** A log of this many pages is checkpointed: 2 MB take little time, 40 MB would take a tenth of a second. */
const maxPages = 500;
/** The pages of a transaction in addition to bodies: a few rows and their index entries. */
const pagesPerCommit = 8;
const pageBytes = 4_096;
/** The size of the log file once no more of it is needed. */
const maxBytes = 4 * 1_024 * 1_024;
const shrinkMs = 5_000;

/**
 * The log beside the file. With the WAL-reset bug of SQLite, a checkpoint must not meet a commit that restarts the log. Then
 * SQLite's automatic checkpoints are off, and this makes them, while a second connection reads: no connection of any version
 * restarts a log that is being read.
 */
export class WalFile {
  readonly #database: Database;
  readonly #path: string;
  readonly #reader: Database | null;
  #pages = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Make it before the first write. */
  constructor(database: Database, driver: Pick<Driver, "open">, path: string) {
    this.#database = database;
    this.#path = path;
    const isAffected = hasWalResetBug(sqliteVersion(database));
    this.#reader = isAffected ? driver.open(path) : null;
    database.exec(`PRAGMA wal_autocheckpoint = ${isAffected ? 0 : maxPages}`);
    database.exec(`PRAGMA journal_size_limit = ${maxBytes}`);
  }

  /** Notes a commit and the bytes of its request. */
  committed(bytes: number): void {
    if (this.#reader === null) return;
    this.#pages += pagesPerCommit + Math.ceil(bytes / pageBytes);
    if (this.#pages < maxPages) return;
    this.#pages = 0;
    this.#checkpoint(this.#reader);
  }

  /** Shrinks the log after a long read has let it grow; `now` in monotonic milliseconds. */
  shrink(now: number): void {
    if (now - this.#lookedAt < shrinkMs) return;
    this.#lookedAt = now;
    const log = statSync(`${this.#path}-wal`, { throwIfNoEntry: false });
    if (log === undefined || log.size <= 2 * maxBytes || !this.#checkpoint(this.#reader)) return;
    try {
      // The next write restarts the log and truncates it.
      this.#database.exec("BEGIN IMMEDIATE; INSERT INTO owner VALUES (0, 0)");
      this.#database.exec("DELETE FROM owner WHERE number = 0; COMMIT");
    } catch {
      rollBack(this.#database);
    }
  }

  close(): void {
    this.#reader?.close();
  }

  /** Checkpoints the log up to its readers; returns whether it is complete. */
  #checkpoint(reader: Database | null): boolean {
    try {
      reader?.exec("BEGIN");
      // This starts the read.
      reader?.prepare("SELECT count(*) AS tables FROM sqlite_master").get();
      const row = this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      return row?.["busy"] === 0 && row["log"] === row["checkpointed"];
    } catch {
      // As with SQLite's own checkpoints: commits are safe in the log, and the next checkpoint retries.
      return false;
    } finally {
      if (reader !== null) rollBack(reader);
    }
  }
}
