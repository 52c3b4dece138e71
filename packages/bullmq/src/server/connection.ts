import { hostname } from "node:os";
import type { ReporthookError } from "@reporthook/core";
import { settlesWithin, systemClock } from "@reporthook/core/store";
import { Queue, type Worker } from "bullmq";
import type { ServerDriver } from "./driver.ts";
import { isSelectRefused, serverErrorOf } from "./errors.ts";
import { readable } from "./jobs.ts";
import { onPostgres } from "./postgres.ts";
import { onRedis } from "./redis.ts";
import type { BullmqSettings } from "./settings.ts";

/** BullMQ on one connection: makes its queues and workers. */
export interface Connection extends Omit<ServerDriver, "backend" | "readyMs" | "workerOf"> {
  /** Makes a queue; all queues share one connection. */
  queue(name: string): Queue;
  /** Makes a worker, with separate connections to wait on; its jobs are fetched by hand. */
  worker(name: string): Worker;
  /** An error to show: with the server's address and the way out, and with its cause if only the connection reported that recently. */
  explained(error: unknown): ReporthookError;
  close(): Promise<void>;
}

/** The number of this process, and its host. */
const processName = `${process.pid} on ${hostname()}`;
const neverFail = 1_000_000;
/** A failing connection retries each second, and reports the reason each time. */
const reportedMs = 10_000;
const saysNothing = /isn't writeable|Connection is closed/;

/** Connects; rejects `inbox_failed` when there is no server within 3 seconds, or no tables within a minute. */
export async function openConnection(settings: BullmqSettings): Promise<Connection> {
  const { backend, leaseMs, address, prefix } = settings;
  const driver = backend === "redis" ? onRedis(settings) : onPostgres(settings);
  const { backend: base, readyMs, workerOf, ...rest } = driver;
  let reported: { readonly error: Error; readonly at: number } | undefined;
  base.on("error", (error) => {
    if (!saysNothing.test(String(error))) reported = { error, at: performance.now() };
  });
  const close = async (): Promise<void> => {
    await base.close(true).catch(() => {});
  };
  try {
    await untilReady(base, readyMs);
    if (isSelectRefused(reported?.error)) throw reported?.error;
  } catch (error) {
    void close();
    // A reported error says more than a timeout.
    throw serverErrorOf(reported?.error ?? error, address, prefix);
  }
  // Callers get their errors; the events of queues add nothing.
  return {
    ...rest,
    queue(name) {
      const options = { connection: {}, skipMetasUpdate: true };
      const queue = new Queue(name, options, () => base.forQueue(name)) as unknown as Queue;
      return readable(queue.on("error", () => {}));
    },
    worker(name) {
      const options = {
        autorun: false,
        lockDuration: leaseMs,
        stalledInterval: Math.ceil(leaseMs / 5),
        maxStalledCount: neverFail,
        skipVersionCheck: true,
        name: processName,
      };
      return readable(workerOf(name, options));
    },
    explained(error) {
      const isLate = reported === undefined || performance.now() - reported.at > reportedMs;
      const saysMore = isLate || !saysNothing.test(String(error)) ? error : reported?.error;
      return serverErrorOf(saysMore, address, prefix);
    },
    close,
  };
}

/** Rejects unless a queue or a worker is connected within `ms` milliseconds. */
export async function untilReady(
  one: { waitUntilReady(): Promise<unknown> },
  ms: number,
): Promise<void> {
  if (await settlesWithin(systemClock, ms, one.waitUntilReady())) return;
  throw new Error(`no answer within ${ms} ms`);
}
