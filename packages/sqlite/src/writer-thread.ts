import { openSync } from "node:fs";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { type Database, loadFound } from "./database/driver.ts";
import { FileContent } from "./database/file-content.ts";
import { FileGuard } from "./database/file-guard.ts";
import { LogContent } from "./database/log-content.ts";
import { preparePlace } from "./database/place.ts";
import { sqliteCode } from "./database/result-code.ts";
import { prepareSchema, probe } from "./database/schema.ts";
import { WalFile } from "./database/wal-file.ts";
import type { FromThread, Message, ThreadOptions } from "./protocol/protocol.ts";
import { upkeepMs } from "./writer-thread/claim/leases.ts";
import { failureOf } from "./writer-thread/failures.ts";
import { Writer } from "./writer-thread/writer.ts";

/** Enough for one transaction; the rest goes into the next. */
const addsPerBatch = 2_000;

/** A commit returns once it is on the disk. */
const synchronous = "FULL";
// Deleted data is overwritten: free pages hold no signatures.
const settings = `
  PRAGMA busy_timeout = 3000;
  PRAGMA synchronous = ${synchronous};
  PRAGMA foreign_keys = OFF;
  PRAGMA cache_size = -8000;
  PRAGMA temp_store = MEMORY;
  PRAGMA secure_delete = ON;
`;

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
  readonly guard: FileGuard;
}

function open(): Opened {
  const driver = loadFound(options.driver);
  const descriptor = preparePlace(options.path, driver, options.migrate, options.descriptor);
  const database = driver.open(options.path);
  let log: WalFile | undefined;
  let guard: FileGuard | undefined;
  try {
    database.exec(settings);
    // Before there is a log: the header with the mark is in the file itself from the beginning on.
    prepareSchema(database, options.path, options.migrate);
    database.exec("PRAGMA journal_mode = WAL");
    log = new WalFile(database, driver, options.path);
    if (options.migrate) checkWritable(database);
    const held = descriptor ?? openSync(options.path, "r");
    const file = new FileContent(database, held, log.reader, options.migrate);
    const content = new LogContent(options.path);
    Atomics.store(new Int32Array(options.pulse), 1, content.index.descriptor + 1);
    guard = new FileGuard(options.path, { file, log: content });
    return { writer: new Writer(database, guard, options), log, guard };
  } catch (error) {
    log?.close();
    database.close();
    guard?.close();
    throw error;
  }
}

/** Fails if SQLite has opened the file read-only: it stays read-only even if write access is granted later. */
function checkWritable(database: Database): void {
  try {
    database.exec(`BEGIN IMMEDIATE; ${probe}; ROLLBACK`);
  } catch (error) {
    // Another process holds the file at this moment: this one can write later.
    if (sqliteCode(error) !== "BUSY") throw error;
  }
}

function serve({ writer, log, guard }: Opened): void {
  const commit = (messages: readonly Message[]): void => {
    post({ reply: writer.commitBatch(messages) });
    log.committed(
      messages.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
      guard,
    );
  };
  const keepUp = orEnd(() => {
    if (writer.needsUpkeep) commit([]);
    if (!guard.isLeft) return;
    end();
    // It is damaged since this moment: closing it fails otherwise.
    throw guard.damage;
  });
  const upkeep = setInterval(keepUp, upkeepMs);
  // Closing the last connection checkpoints the log.
  const end = (): void => {
    // It looks at the file with the log's reader.
    try {
      writer.close();
    } finally {
      log.close();
    }
  };
  const receive = orEnd((first: Message) => {
    const messages = [first];
    let adds = first.adds.length;
    while (isComplete && adds < addsPerBatch) {
      const next = receiveMessageOnPort(port)?.message as Message | undefined;
      if (next === undefined) break;
      messages.push(next);
      adds += next.adds.length;
    }
    commit(messages);
    if (!messages.some(({ calls }) => calls.some(({ ask }) => ask === "close"))) return;
    clearInterval(upkeep);
    end();
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
  post({ opened: opened.writer.takeTallies() });
  serve(opened);
})();
