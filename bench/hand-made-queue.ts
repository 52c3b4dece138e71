import { createHash, randomUUID } from "node:crypto";
import { createPostgresBackend, Queue, Worker } from "bullmq";
import express, { type Express } from "express";
import { type EngineName, urlOf } from "./engines.ts";

/** The way without us: Express, `await queue.add()`, 200, and a worker that does nothing. */
export interface HandMadeQueue {
  readonly engine: EngineName;
  /** Also has BullMQ tell copies, by a hash of signature and body. */
  readonly dedupes: boolean;
}

const path = "/webhooks/reports";
const dayMs = 86_400_000;

/** Makes the app; with `work` a worker empties its queue. Resolves also to what counts what waits. */
export async function handMadeQueue(
  { engine, dedupes }: HandMadeQueue,
  work: boolean,
): Promise<{ readonly app: Express; waiting(): Promise<number> }> {
  const name = `hand-made-${randomUUID()}`;
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
      ...{ jobId, deduplication: { id, ttl: dayMs } },
    });
    res.status(200).json({ status: job.id === jobId ? "accepted" : "duplicate", id: job.id });
  });
  if (work) {
    const concurrency = 8;
    const handle = async (): Promise<void> => {};
    const given = { ...options, concurrency, removeOnComplete: { age: 7 * 86_400 } };
    const worker = new Worker(name, handle, given, ...(factory as []));
    await worker.waitUntilReady();
  }
  return { app, waiting: () => queue.getJobCountByTypes("wait", "active") };
}

function connectionOf(engine: EngineName): object {
  const url = urlOf(engine);
  return engine === "redis" ? { url } : { connectionString: url, migrate: true, max: 20 };
}
