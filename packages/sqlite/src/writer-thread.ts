import { closeSync, existsSync, openSync } from "node:fs";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { ReporthookError } from "@reporthook/core";
import { type Database, loadDriver } from "./database/driver.ts";
import { checkPlace, FileGuard } from "./database/file-guard.ts";
import { checkSchema, prepareSchema } from "./database/migrations.ts";
import { sqliteCode } from "./database/result-code.ts";
import { WalFile } from "./database/wal-file.ts";
import type { FromThread, Request, ThreadOptions } from "./protocol/protocol.ts";
import { failureOf } from "./writer-thread/errors.ts";
import { Writer } from "./writer-thread/writer.ts";

/** Milliseconds between two checks for upkeep. */
const upkeepMs = 500;
/** Enough for one transaction; the rest goes into the next. */
const addsPerBatch = 2_000;

/** A commit returns once it is on the disk. */
const synchronous = "FULL";
// Deleted data is overwritten: free pages hold no signatures.
const settings = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${synchronous};
  PRAGMA foreign_keys = OFF;
  PRAGMA cache_size = -8000;
  PRAGMA temp_store = MEMORY;
  PRAGMA secure_delete = ON;
`;

const busy = 5;

const port = parentPort;
// Deno's can neither be asked for the next message nor closed.
const isComplete = typeof port?.close === "function";
const options = workerData as ThreadOptions;

function post(message: FromThread): void {
  port?.postMessage(message);
}

interface Opened {
  readonly writer: Writer;
  readonly log: WalFile;
}

function open(): Opened {
  if (!existsSync(options.path)) create();
  checkPlace(options.path);
  const driver = loadDriver(options.driver);
  const database = driver.open(options.path);
  let log: WalFile | undefined;
  try {
    database.exec("PRAGMA busy_timeout = 3000");
    checkSchema(database, options.path, options.migrate);
    database.exec(settings);
    log = new WalFile(database, driver, options.path);
    prepareSchema(database, options.path, options.migrate);
    if (options.migrate) checkWritable(database);
    return { writer: new Writer(database, new FileGuard(options.path), options), log };
  } catch (error) {
    log?.close();
    database.close();
    throw error;
  }
}

/** Fails if SQLite has opened the file read-only: it stays read-only even if write access is granted later. */
function checkWritable(database: Database): void {
  try {
    database.exec("BEGIN IMMEDIATE; INSERT INTO owner VALUES (0, 0); ROLLBACK");
  } catch (error) {
    // Another process holds the file at this moment: this one can write later.
    if (sqliteCode(error) !== busy) throw error;
  }
}

/** Makes an empty file that only its owner can read. */
function create(): void {
  const { path, migrate } = options;
  if (!migrate)
    throw new ReporthookError("inbox_failed", `There is no ${path}: name the app's file`);
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // Another process was faster, or the file can't be created: SQLite will report it.
  }
}

function deliveriesIn({ adds }: Request): number {
  return adds.reduce((count, { ids }) => count + ids.length, 0);
}

function serve({ writer, log }: Opened): void {
  const commit = (requests: readonly Request[]): void => {
    post({ reply: writer.commitBatch(requests) });
    log.committed(requests.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
  };
  const keepUp = orEnd(() => {
    if (writer.needsUpkeep) commit([]);
    log.shrink(performance.now());
  });
  const upkeep = setInterval(keepUp, upkeepMs);
  const receive = orEnd((first: Request) => {
    const requests = [first];
    let adds = deliveriesIn(first);
    while (isComplete && adds < addsPerBatch) {
      const next = receiveMessageOnPort(port)?.message as Request | undefined;
      if (next === undefined) break;
      requests.push(next);
      adds += deliveriesIn(next);
    }
    commit(requests);
    if (!requests.some(({ calls }) => calls.some(({ ask }) => ask === "close"))) return;
    clearInterval(upkeep);
    // Closing the last connection checkpoints the log.
    log.close();
    writer.close();
    if (isComplete) port.close();
    else process.exit();
  });
  port?.on("message", receive);
}

/** Ends the thread with the reason in words: an error of a driver would arrive as "[object Object]". */
function orEnd<Args extends readonly unknown[]>(step: (...args: Args) => void) {
  return (...args: Args): void => {
    try {
      step(...args);
    } catch (error) {
      post({ ending: failureOf(error, options.path) });
      process.exit();
    }
  };
}

orEnd(() => {
  const opened = open();
  post({ opened: opened.writer.counts });
  serve(opened);
})();
