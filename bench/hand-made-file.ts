import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { openTable, type StoredRow } from "./hand-made-table.ts";

/** The way without us on a file: `node:http`, one INSERT for each notification, 200 once it is synced. */
export interface HandMadeFile {
  /** On the event loop, each in a transaction of its own, as it is usually written; or all that wait at once, in a thread. */
  readonly rows: "one by one" | "grouped";
}

/** Makes what answers, with its table in `folder`. */
export function handMadeFile({ rows }: HandMadeFile, folder: string): RequestListener {
  const store = rows === "grouped" ? grouped(folder) : oneByOne(folder);
  return async (req, res) => {
    const body = await bodyOf(req);
    const id = randomUUID();
    const signature = String(req.headers["x-svc-authorization"]);
    const key = createHash("sha256").update(signature).update(body).digest();
    const headers = JSON.stringify(req.headers);
    await store([id, key.subarray(0, 12), Date.now(), signature, headers, body]);
    const answer = JSON.stringify({ status: "accepted", id });
    res.writeHead(200, { "Content-Type": "application/json", "Content-Length": answer.length });
    res.end(answer);
  };
}

function bodyOf(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => resolve(Buffer.concat(chunks)));
  });
}

type Store = (row: StoredRow) => Promise<void>;

function oneByOne(folder: string): Store {
  const table = openTable(fileIn(folder));
  return async (row) => table.insert([row]);
}

function grouped(folder: string): Store {
  const thread = new Worker(new URL("./hand-made-thread.js", import.meta.url), {
    workerData: fileIn(folder),
  });
  const waiting: (() => void)[] = [];
  let batch: StoredRow[] = [];
  thread.on("message", (stored: number) => {
    for (const resolve of waiting.splice(0, stored)) resolve();
  });
  return (row) =>
    new Promise((resolve) => {
      batch.push(row);
      waiting.push(resolve);
      if (batch.length > 1) return;
      setImmediate(() => {
        thread.postMessage(batch);
        batch = [];
      });
    });
}

function fileIn(folder: string): string {
  return join(folder, "hand-made.db");
}
