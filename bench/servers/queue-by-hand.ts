import { createHash, randomUUID } from "node:crypto";
import { basename } from "node:path";
import { createPostgresBackend, Queue, Worker } from "bullmq";
import express, { type Express } from "express";
import { type EngineName, urlOf } from "../inboxes.ts";
import type { Handle } from "./handler.ts";

/** The way without us: Express, `await queue.add()`, 200, and a worker. */
export interface QueueByHand {
  readonly engine: EngineName;
  /** Also has BullMQ tell copies, by a hash of signature and body. */
  readonly dedupes?: boolean;
}

const path = "/webhooks/reports";
const dayMs = 86_400_000;
const lookEveryMs = 50;

/** Makes the app; with `handle` a worker empties its queue. Also tells what waits. */
export async function queueByHand(
  { engine, dedupes = false }: QueueByHand,
  folder: string,
  handle: Handle | null,
): Promise<{ readonly app: Express; waiting(): number }> {
  const name = basename(folder);
  const connection = connectionOf(engine);
  const factory = engine === "redis" ? [] : [createPostgresBackend];
  const options = { connection: connection as never };
  const queue = new Queue(name, options, ...(factory as []));
  await queue.waitUntilReady();
  const app = express();
  app.post(path, express.json(), async (req, res) => {
    if (!dedupes) {
      await queue.add("notification", req.body);
      res.sendStatus(200);
      return;
    }
    const signature = String(req.headers["x-svc-authorization"]);
    const hash = createHash("sha256").update(signature).update(JSON.stringify(req.body));
    const id = hash.digest("base64url");
    const jobId = randomUUID();
    const job = await queue.add("notification", req.body, {
      jobId,
      deduplication: { id, ttl: dayMs },
    });
    res.status(200).json({ status: job.id === jobId ? "accepted" : "duplicate", id: job.id });
  });
  if (handle === null) return { app, waiting: () => 0 };
  const given = { ...options, concurrency: 8, removeOnComplete: { age: (7 * dayMs) / 1_000 } };
  const worker = new Worker(name, async ({ data }) => handle(data), given, ...(factory as []));
  await worker.waitUntilReady();
  let waiting = 0;
  const look = async (): Promise<void> => {
    waiting = await queue.getJobCountByTypes("wait", "active");
    setTimeout(() => void look(), lookEveryMs);
  };
  await look();
  return { app, waiting: () => waiting };
}

function connectionOf(engine: EngineName): object {
  const url = urlOf(engine);
  return engine === "redis" ? { url } : { connectionString: url, migrate: true, max: 20 };
}
