import { type Database, type Driver, rollBack } from "./driver.ts";
import type { FileGuard } from "./file-guard.ts";

/** A log of this many pages is checkpointed: 1 MB stays in the processor's cache, and 40 MB would take a tenth of a second. */
const maxPages = 250;
/** The pages of a transaction in addition to bodies: a few rows and their index entries. */
const pagesPerCommit = 8;
const pageBytes = 4_096;
/** The size of the log file once no more of it is needed. */
const maxBytes = 4 * 1_024 * 1_024;

/** The part of a {@link FileGuard} that checkpoints need. */
export type CheckpointGuard = Pick<FileGuard, "isSound" | "checkpointed">;

/**
 * The log beside the file, and its checkpoints: SQLite's automatic ones are off, for none may go into a file that is damaged. With
 * the WAL-reset bug of SQLite, a checkpoint must not meet a commit that restarts the log. So a second connection reads
 * meanwhile: no connection of any version restarts a log that is being read.
 */
export class WalFile {
  readonly #database: Database;
  /** It keeps nothing in memory that would hide damage. */
  readonly reader: Database;
  #pages = 0;

  /** Make it before the first write. */
  constructor(database: Database, driver: Pick<Driver, "open">, path: string) {
    this.#database = database;
    this.reader = driver.open(path);
    this.reader.exec("PRAGMA busy_timeout = 3000; PRAGMA cache_size = 10");
    database.exec("PRAGMA wal_autocheckpoint = 0");
    database.exec(`PRAGMA journal_size_limit = ${maxBytes}`);
  }

  /** Notes a commit and the bytes of its messages: checkpoints a long log up to its readers, unless the guard complains. */
  committed(bytes: number, guard: CheckpointGuard): void {
    this.#pages += pagesPerCommit + Math.ceil(bytes / pageBytes);
    if (this.#pages < maxPages) return;
    this.#pages = 0;
    if (!guard.isSound()) return;
    try {
      this.reader.exec("BEGIN");
      // This starts the read.
      this.reader.prepare("SELECT count(*) AS tables FROM sqlite_master").get();
      const row = this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      if (row?.["busy"] === 0) guard.checkpointed();
    } catch {
      // As with SQLite's own checkpoints: commits are safe in the log, and the next checkpoint retries.
    } finally {
      rollBack(this.reader);
    }
  }

  close(): void {
    this.reader.close();
  }
}
