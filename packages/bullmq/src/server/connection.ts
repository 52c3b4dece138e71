import {
  createRedisBackend,
  type IQueueBackend,
  PostgresConnection,
  PostgresQueueBackend,
  Queue,
  Worker,
} from "bullmq";
import { serverErrorOf } from "./errors.ts";
import { readable } from "./jobs.ts";
import type { BullmqSettings } from "./settings.ts";

/** BullMQ on one connection: what its queues and workers are made with. */
export interface Connection {
  /** Shares the connection with all others. */
  queue(name: string): Queue;
  /** Has connections of its own, to wait on; takes jobs up by hand. */
  worker(name: string): Worker;
  /** A setting of the server; null where it does not tell. */
  setting(name: string): Promise<string | null>;
  /** Deletes a queue's dedupe keys whose time is over, where the server does not do so by itself. */
  forget(queue: string, now: number): Promise<void>;
  /** Why `error` came about, if the connection has told it lately and the error has not. */
  reasonOf(error: unknown): unknown;
  close(): Promise<void>;
}

/** How long a connection may take, in milliseconds. */
export const openMs = 3_000;
/** How long PostgreSQL may take until its tables are made, or brought up to date, maybe by others who start. */
const migrateMs = 60_000;
const answerMs = 10_000;
/** Longer than a worker of BullMQ waits on Redis for a job. */
const silenceMs = 15_000;
const neverFail = 1_000_000;
/** A connection that can't be made is tried again each second, and each time tells why. */
const toldMs = 10_000;
const saysNothing = /isn't writeable|Connection is closed/;

/** Connects; rejects `inbox_failed` when there is no server within 3 seconds, or no tables within a minute. */
export async function openConnection(settings: BullmqSettings): Promise<Connection> {
  const {
    backend: base,
    readyMs,
    ...rest
  } = settings.backend === "redis" ? onRedis(settings) : onPostgres(settings);
  // Whoever asks for something is told what failed; these events tell nobody more.
  let told: { readonly error: unknown; readonly at: number } | undefined;
  base.on("error", (error) => {
    told = { error, at: performance.now() };
  });
  const reasonOf = (error: unknown): unknown => {
    const isLate = told === undefined || performance.now() - told.at > toldMs;
    return isLate || !saysNothing.test(String(error)) ? error : told?.error;
  };
  const closeAll = async (): Promise<void> => {
    await base.close(true).catch(() => {});
  };
  try {
    await inTime(base.waitUntilReady(), readyMs);
  } catch (error) {
    void closeAll();
    // That it did not answer says less than what it said.
    throw serverErrorOf(told?.error ?? error, settings.place);
  }
  return {
    queue: (name) =>
      readable(
        new Queue(name, { connection: {}, skipMetasUpdate: true }, () =>
          base.forQueue(name),
        ) as unknown as Queue,
      ),
    worker(name) {
      const { leaseMs } = settings;
      const options = {
        ...{ connection: workerConnection(settings) as never, autorun: false },
        ...{ lockDuration: leaseMs, stalledInterval: Math.ceil(leaseMs / 3) },
        ...{ maxStalledCount: neverFail, skipVersionCheck: true },
      };
      const worker: Worker =
        settings.backend === "redis"
          ? new Worker(name, null, options)
          : (new Worker(name, null, options, (queue, given) => {
              const connection = postgresConnection(options.connection);
              const own = { ...given, connection: {} };
              return new PostgresQueueBackend(connection, queue, own, true, queue);
            }) as unknown as Worker);
      return readable(worker);
    },
    ...rest,
    reasonOf,
    close: closeAll,
  };
}

interface Base extends Pick<Connection, "setting" | "forget"> {
  readonly backend: IQueueBackend;
  readonly readyMs: number;
}

const always = {
  connectTimeout: openMs,
  retryStrategy: (times: number) => Math.min(times * 100, 1_000),
};

function onRedis({ connection, leaseMs }: BullmqSettings): Base {
  // What can't be sent now must fail now: it is answered 503, and must not be kept for later.
  const now = { enableOfflineQueue: false, maxRetriesPerRequest: 0 };
  const limits = { commandTimeout: answerMs, socketTimeout: answerMs };
  const options = { ...always, ...limits, ...connection, ...now };
  const backend = createRedisBackend("reporthook", {
    ...{ connection: options, skipVersionCheck: true, lockDuration: leaseMs },
  });
  return {
    backend,
    readyMs: openMs,
    async setting(name) {
      const client = (await backend.client) as unknown as RedisConfig;
      const [, value] = await client.config("GET", name);
      return value ?? null;
    },
    async forget() {},
  };
}

interface RedisConfig {
  config(command: "GET", name: string): Promise<readonly string[]>;
}

function onPostgres({ connection, leaseMs }: BullmqSettings): Base {
  const options = { connectionTimeoutMillis: openMs, query_timeout: answerMs, migrate: true };
  const pool = postgresConnection({ ...options, ...connection });
  // For the jobs that are taken up as others are completed.
  const backend = new PostgresQueueBackend(pool, "reporthook", {
    ...{ connection, lockDuration: leaseMs },
  });
  return {
    backend,
    readyMs: migrateMs,
    async setting(name) {
      const { rows } = await pool.pool.query<{ setting: string }>(
        "SELECT setting FROM pg_settings WHERE name = $1",
        [name],
      );
      return rows[0]?.setting ?? null;
    },
    async forget(queue, now) {
      // BullMQ looks at a key only when the same comes again.
      await pool.pool.query("DELETE FROM dedup WHERE queue = $1 AND expire_at_ms <= $2", [
        queue,
        now,
      ]);
    },
  };
}

/** A connection whose loss ends no process: pg throws it out of the event loop while BullMQ has a client in its hands. */
export function postgresConnection(options: Record<string, unknown>): PostgresConnection {
  const connection = new PostgresConnection(options);
  // Whoever has asked it for something is told.
  connection.pool.on("connect", (client) => client.on("error", () => {}));
  return connection;
}

function workerConnection({ backend, connection }: BullmqSettings): Record<string, unknown> {
  return backend === "redis"
    ? { ...always, socketTimeout: silenceMs, ...connection, maxRetriesPerRequest: null }
    : { connectionTimeoutMillis: openMs, query_timeout: answerMs, max: 5, ...connection };
}

/** Rejects when it takes longer than so many milliseconds. */
export async function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  promise.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
