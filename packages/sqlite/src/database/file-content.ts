import type { Stats } from "node:fs";
import type { Database } from "./driver.ts";
import {
  type FileHeader,
  isBetween,
  lookAgain,
  markBefore,
  markIn,
  readHeader,
  schemaIn,
  writeMark,
} from "./header.ts";
import { isWhole } from "./place.ts";

/** Milliseconds in which one checkpoint, seen at its beginning, writes the rest. */
const checkpointMs = 1_000;
const versions =
  "SELECT (SELECT user_version FROM pragma_user_version) AS version, (SELECT schema_version FROM pragma_schema_version) AS change";

/**
 * The content of the inbox file, which SQLite writes at checkpoints only. A mark in its header is raised after each checkpoint, and
 * gets into the file with the next one. So an older copy that was written over the file has an older mark, another file any mark;
 * and where a checkpoint has gone over its header, it lacks the mark before that, in a page by itself.
 */
export class FileContent {
  readonly #database: Database;
  readonly #descriptor: number;
  readonly #reader: Database;
  readonly #raises: boolean;
  #seen: Stats | undefined;
  #header: FileHeader;
  #raisedAt = Number.NEGATIVE_INFINITY;
  /** Whether the next transaction that writes raises the mark. */
  isDue = true;
  #changesBefore = 0;

  /** `descriptor` is one of the file; `reader` has none of its pages in memory; one that only reads raises no mark. */
  constructor(database: Database, descriptor: number, reader: Database, raises: boolean) {
    this.#database = database;
    this.#descriptor = descriptor;
    this.#reader = reader;
    this.#raises = raises;
    // In any case: this makes the log of a file that had none. The reader opens that one, or would make another if it is deleted.
    const latest = this.#latest();
    reader.prepare(versions).get();
    this.#header = readHeader(descriptor) ?? latest;
  }

  /** Begins a transaction. */
  begin(): void {
    if (this.isDue) this.#changesBefore = this.#changes();
  }

  /**
   * Raises the mark, if that is due, in a transaction that writes: one that only reads must not fail because a disk is full. Not while
   * the last one is in the log only: a checkpoint that writes two of them may be killed, or looked at, between their pages.
   */
  raise(): void {
    if (!this.isDue || !this.#raises || this.#changes() === this.#changesBefore) return;
    this.isDue = false;
    const header = readHeader(this.#descriptor);
    const { mark, schema } = this.#latest();
    if (header?.mark !== mark) return;
    // A checkpoint that a full disk ended may have written the header, and not the page with the mark before.
    if (markBefore(this.#database, this.#descriptor, mark + 1) !== mark) return;
    writeMark(this.#database, mark + 1, schema);
  }

  /** How the content, last changed as `now` says, is none that SQLite has written; null if it is. */
  check(now: Stats): string | null {
    if (this.#seen !== undefined && isSameContent(now, this.#seen)) return null;
    const problem = this.checkHeader(now.size) ?? this.#problemOfPages();
    if (problem === null) this.#seen = now;
    // Somebody has made a checkpoint.
    this.isDue = true;
    return problem;
  }

  /** The same without regard to the times of the file, which may be coarse. */
  checkHeader(size: number): string | null {
    return lookAgain(() => this.#problemOfHeader(size));
  }

  /** The same after a checkpoint by this connection. */
  checkpointed(now: Stats): string | null {
    const problem = this.checkHeader(now.size);
    this.#seen = now;
    this.#raisedAt = Number.NEGATIVE_INFINITY;
    this.isDue = true;
    return problem;
  }

  #problemOfHeader(size: number): string | null {
    const header = readHeader(this.#descriptor);
    const before = this.#header;
    if (header === null) return size === 0 ? "emptied" : "overwritten or cut off";
    if (header.mark !== before.mark || header.schemaChange !== before.schemaChange) {
      const last = markBefore(this.#database, this.#descriptor, header.mark);
      // Read after the file: the database is never behind it.
      const { mark, schemaChange } = this.#latest();
      // VACUUM moves tables.
      const isOlder =
        schemaChange === before.schemaChange &&
        (last === null || !isBetween(last, header.mark - 1, mark));
      // A person may have changed the schema twice, with a checkpoint between.
      const isOurs =
        isBetween(header.mark, before.mark, mark) &&
        before.schemaChange <= header.schemaChange &&
        header.schemaChange <= schemaChange;
      if (isOlder || !isOurs) return "overwritten by an older copy or another file";
      this.#raisedAt = performance.now();
    }
    this.#header = header;
    return null;
  }

  /** Reads all pages after a change that no checkpoint of an inbox explains: another program made one, or wrote over it. */
  #problemOfPages(): string | null {
    const isExplained = performance.now() - this.#raisedAt < checkpointMs;
    const isFirst = this.#seen === undefined;
    return isFirst || isExplained || isWhole(this.#reader) ? null : "overwritten in places";
  }

  /** How many rows were written through this connection, ever. */
  #changes(): number {
    return Number(this.#database.prepare("SELECT total_changes() AS changes").get()?.["changes"]);
  }

  /** As the database has it, with its log. */
  #latest(): FileHeader & { readonly schema: number } {
    const row = this.#database.prepare(versions).get();
    const [version, schemaChange] = [Number(row?.["version"]), Number(row?.["change"])];
    return { mark: markIn(version), schema: schemaIn(version), schemaChange };
  }
}

function isSameContent(one: Stats, other: Stats): boolean {
  return one.mtimeMs === other.mtimeMs && one.size === other.size;
}
