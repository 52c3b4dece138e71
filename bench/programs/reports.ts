// Follows reports on a file, or asks for them by hand, in a separate process.
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, createReceiver, type Receiver } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { answerParent } from "../child.ts";
import { openDatabase } from "../servers/file-by-hand.ts";

/** A task in a folder: to ask so often, or to start on a file with so many settled requests. */
export interface Task {
  readonly task: "request" | "by hand" | "start";
  readonly folder: string;
  readonly count: number;
}

const serviceMs = 10;
const url = "https://app.example/webhooks/reports";
const report = { domains: ["example.com"], start_date: "2026-01" };
const client = createClient({
  baseUrl: "https://service.example",
  apiKey: "key",
  fetch: () => pause(serviceMs).then(() => Response.json({}, { status: 202 })),
});

const open = (folder: string): Receiver =>
  createReceiver({
    client,
    inbox: sqliteInbox(join(folder, "inbox.db")),
    logger: false,
    callback: { secrets: ["0123456789abcdef0123456789abcdef"], url },
  }).on("*", () => {});

function askByHand(folder: string): (key: string) => unknown {
  const database = openDatabase(join(folder, "by-hand.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE request (key TEXT UNIQUE, asked_at INTEGER, report TEXT)");
  const insert = database.prepare("INSERT INTO request VALUES (?, ?, ?)");
  return (key) => {
    insert.run(key, Date.now(), JSON.stringify(report));
    return client.requestReport({ ...report, webhook_url: `${url}?key=${key}` });
  };
}

/** Copies of one request, settled now: asking a million times would take hours. */
const copies = (count: number): string => `
  WITH RECURSIVE number (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM number WHERE at < ${count})
  INSERT INTO request (receiver, id, data)
  SELECT receiver, id || at, json_set(data, '$.state', 'complete', '$.settledAt', due_at - 86400000)
  FROM request, number`;

async function start(folder: string, count: number): Promise<number> {
  const earlier = open(folder);
  await earlier.reports.request(report);
  await earlier.close();
  if (count > 0) {
    const database = openDatabase(join(folder, "inbox.db"));
    database.exec(copies(count));
    // The write-ahead log has all of them otherwise, and each start reads it.
    database.close();
  }
  const from = performance.now();
  await open(folder).start();
  return performance.now() - from;
}

answerParent(async ({ task, folder, count }: Task) => {
  if (task === "start") return start(folder, count);
  const receiver = open(folder);
  const request = (idempotencyKey: string) => receiver.reports.request(report, { idempotencyKey });
  const ask = task === "request" ? request : askByHand(folder);
  // It opens the file.
  await ask("first");
  const from = performance.now();
  for (let number = 0; number < count; number++) await ask(`k-${number}`);
  return (performance.now() - from) / count;
});
