import { closeSync, existsSync, openSync } from "node:fs";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { ReporthookError } from "@reporthook/core";
import { type Database, loadDriver, sqliteCode } from "./database/driver.ts";
import { OpenFile } from "./database/file-guard.ts";
import { LogFile } from "./database/log-file.ts";
import { checkSchema, prepareSchema } from "./database/migrations.ts";
import type { FromThread, Request, ThreadOptions } from "./protocol/protocol.ts";
import { explain } from "./writer-thread/errors.ts";
import { Engine } from "./writer-thread/writer.ts";

/** How often the thread looks for what nobody asked for, in milliseconds. */
const lookMs = 500;
/** Enough for one transaction; the rest goes into the next. */
const mostAdds = 2_000;

// What is deleted is overwritten: a signature leaves nothing behind in pages that are free.
const settings = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = OFF;
  PRAGMA cache_size = -8000;
  PRAGMA temp_store = MEMORY;
  PRAGMA secure_delete = ON;
`;

const busy = 5;

const port = parentPort;
// Deno's can neither be asked for the next message nor closed.
const whole = typeof port?.close === "function";
const options = workerData as ThreadOptions;

function post(message: FromThread): void {
  port?.postMessage(message);
}

interface Opened {
  readonly engine: Engine;
  readonly log: LogFile;
}

function open(): Opened {
  if (!existsSync(options.path)) create();
  const driver = loadDriver(options.driver);
  const database = driver.open(options.path);
  let log: LogFile | undefined;
  try {
    database.exec("PRAGMA busy_timeout = 3000");
    checkSchema(database, options.path, options.migrate);
    database.exec(settings);
    log = new LogFile(database, driver, options.path);
    prepareSchema(database, options.path, options.migrate);
    if (options.migrate) checkWritable(database);
    return { engine: new Engine(database, new OpenFile(options.path), options), log };
  } catch (error) {
    log?.close();
    database.close();
    throw error;
  }
}

/** What SQLite has opened for reading only stays so, whoever gives the right to write later. */
function checkWritable(database: Database): void {
  try {
    database.exec("BEGIN IMMEDIATE; INSERT INTO owner VALUES (0, 0); ROLLBACK");
  } catch (error) {
    // Who has to wait for another process may write later.
    if (sqliteCode(error) !== busy) throw error;
  }
}

/** Makes an empty file that only its owner can read, for what it will hold is nobody else's business. */
function create(): void {
  const { path, migrate } = options;
  if (!migrate)
    throw new ReporthookError("inbox_failed", `There is no ${path}: name the app's file`);
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // Another process was faster, or it can't be made: SQLite will tell.
  }
}

function numberOf({ adds }: Request): number {
  return adds.reduce((number, { ids }) => number + ids.length, 0);
}

function serve({ engine, log }: Opened): void {
  const turn = (requests: readonly Request[]): void => {
    post({ reply: engine.turn(requests) });
    log.committed(requests.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
  };
  const look = setInterval(() => {
    if (engine.restless) turn([]);
    log.shrink(performance.now());
  }, lookMs);
  port?.on("message", (first: Request) => {
    const requests = [first];
    let adds = numberOf(first);
    while (whole && adds < mostAdds) {
      const next = receiveMessageOnPort(port)?.message as Request | undefined;
      if (next === undefined) break;
      requests.push(next);
      adds += numberOf(next);
    }
    turn(requests);
    if (!requests.some(({ calls }) => calls.some(({ ask }) => ask === "close"))) return;
    clearInterval(look);
    if (whole) port.close();
    // The last connection to be closed brings the log into the file.
    log.close();
    engine.close();
    if (!whole) process.exit();
  });
}

try {
  const opened = open();
  post({ opened: opened.engine.numbers });
  serve(opened);
} catch (error) {
  const { code, message } = explain(error, options.path);
  post({ unopened: { code, failed: message } });
}
