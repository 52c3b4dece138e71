import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createClient,
  createReceiver,
  type EventOf,
  type HandlerContext,
  type InboxQuery,
} from "@reporthook/core";
import { reporthook } from "@reporthook/express";
import { sqliteInbox } from "@reporthook/sqlite";
import express from "express";
import { around, die, type Kill } from "./points.ts";

/** How an app is started: as JSON in the environment variable CRASH_APP. */
export interface AppOptions {
  readonly folder: string;
  readonly serviceUrl: string;
  readonly kill?: Kill | undefined;
  /** How far its clock is ahead, in milliseconds. */
  readonly aheadMs?: number | undefined;
  /** How long handlers have to finish when it is told to end, in milliseconds. */
  readonly closeMs?: number | undefined;
}

/** A question to an app. */
export interface Question {
  readonly ask: "counts" | "list" | "get" | "release" | "idle";
  readonly given?: unknown;
}

/** One line of the log of what handlers did. */
export interface Run {
  readonly at: "start" | "end" | "aborted";
  readonly id: string;
  readonly reportId: string;
  readonly pid: number;
  readonly attempt: number;
}

const options = JSON.parse(process.env["CRASH_APP"] ?? "{}") as AppOptions;
const { folder, serviceUrl, aheadMs = 0, closeMs = 25_000 } = options;
const effects = join(folder, "effects");
mkdirSync(effects, { recursive: true });
const points = around(options.kill);
const client = createClient({ baseUrl: serviceUrl, apiKey: "test-api-key" });
const log = (fields: object, message: string): void => tell({ log: { ...fields, message } });

const receiver = createReceiver({
  client: { authorize: points.authorize(client.authorize) },
  inbox: points.inbox(sqliteInbox(join(folder, "inbox.db"))),
  clock: { now: () => Date.now() + aheadMs, setTimeout, clearTimeout },
  logger: { warn: log, error: log },
});
receiver.on("*", handle);

const app = express();
app.post("/hook", points.answered, reporthook(receiver));
const server = app.listen(0, "127.0.0.1", () =>
  tell({ port: (server.address() as AddressInfo).port }),
);

process.once("SIGTERM", async () => {
  server.close();
  await receiver.close({ timeoutMs: closeMs });
  process.disconnect();
});
process.on("disconnect", () => {
  // Nothing of ours may keep the process alive; a parent that is gone ends it all the same.
  setTimeout(() => process.exit(99), 20_000).unref();
});
process.on("message", ({ number, ask, given }: Question & { readonly number: number }) => {
  answer({ ask, given }).then(
    (value) => tell({ number, value }),
    (error: unknown) => tell({ number, error: String(error) }),
  );
});

function tell(message: object): void {
  if (process.connected) process.send?.(message);
}

async function answer({ ask, given }: Question): Promise<unknown> {
  const { inbox } = receiver;
  switch (ask) {
    case "counts":
      return inbox.counts();
    case "list":
      return inbox.list(given as InboxQuery);
    case "get":
      return inbox.get(given as string);
    case "release":
      return inbox.release(given as string);
    case "idle":
      return receiver.idle({ timeoutMs: given as number });
  }
}

/** Does what the report's id begins with, and has its effect once for each event. */
async function handle(event: EventOf, { attempt, signal }: HandlerContext): Promise<void> {
  const reportId = ("reportId" in event && event.reportId) || "none";
  const note = (at: Run["at"]): void => {
    const run: Run = { at, id: event.id, reportId, pid: process.pid, attempt };
    appendFileSync(join(folder, "runs.jsonl"), `${JSON.stringify(run)}\n`);
  };
  note("start");
  signal.addEventListener("abort", () => note("aborted"));
  const [what, ms] = reportId.split("-");
  if (what === "blocking") blockUntilOther(event.id);
  else if (what === "gated") while (!existsSync(join(folder, "open"))) await sleep(20);
  else await sleep(Number(ms));
  if (what === "deadly" && !existsSync(join(folder, "fixed"))) {
    // Not before its verdict is recorded: handling would begin once more.
    while ((await receiver.inbox.get(event.id))?.state === "received") await sleep(20);
    die();
  }
  points.reached("during-handler");
  haveEffect(event.id);
  note("end");
}

/** The first process to come here blocks its event loop until another one has begun the same work. */
function blockUntilOther(id: string): void {
  const others = (): boolean => {
    const runs = readFileSync(join(folder, "runs.jsonl"), "utf8").trim().split("\n");
    return runs
      .map((line) => JSON.parse(line) as Run)
      .some((run) => run.at === "start" && run.id === id && run.pid !== process.pid);
  };
  const still = new Int32Array(new SharedArrayBuffer(4));
  while (!others()) Atomics.wait(still, 0, 0, 50);
}

/** "Insert or ignore": of all processes that try, one makes the file. */
function haveEffect(id: string): void {
  try {
    writeFileSync(join(effects, id), "", { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
