import { hostname } from "node:os";
import { settlesWithin, systemClock } from "@reporthook/core/store";
import {
  createRedisBackend,
  type IQueueBackend,
  PostgresConnection,
  PostgresQueueBackend,
  Queue,
  Worker,
} from "bullmq";
import { isSelectRefused, serverErrorOf } from "./errors.ts";
import { readable } from "./jobs.ts";
import { lasting } from "./lasting.ts";
import type { RedisCommands } from "./redis-commands.ts";
import type { BullmqSettings } from "./settings.ts";

/** BullMQ on one connection: makes its queues and workers. */
export interface Connection {
  /** Makes a queue; all queues share one connection. */
  queue(name: string): Queue;
  /** Makes a worker, with separate connections to wait on; its jobs are fetched by hand. */
  worker(name: string): Worker;
  /** A setting of the server; null if it can't be read. */
  setting(name: string): Promise<string | null>;
  /** Calls `listener` whenever the connection was lost and made again. */
  onConnected(listener: () => void): void;
  /** The names of the processes that run these jobs of a queue, in their order; null for one that does not run. */
  ownersOf(queue: string, ids: readonly string[]): Promise<readonly (string | null)[]>;
  /** Deletes the expired dedupe keys of a queue, if the server does not. */
  forget(queue: string, now: number): Promise<void>;
  /** The commands of Redis; null on PostgreSQL. */
  readonly redis: (() => Promise<RedisCommands>) | null;
  /** The cause of `error`, if only the connection reported it recently. */
  reasonOf(error: unknown): unknown;
  close(): Promise<void>;
}

/** Time limit of a connection, in milliseconds. */
export const openMs = 3_000;
/** Time limit of creating or migrating the tables of PostgreSQL, maybe by other processes, in milliseconds. */
const migrateMs = 60_000;
const answerMs = 10_000;
/** Longer than a BullMQ worker waits on Redis for a job. */
const silenceMs = 15_000;
/** The number of this process, and its host. */
const processName = `${process.pid} on ${hostname()}`;
const neverFail = 1_000_000;
/** A failing connection retries each second, and reports the reason each time. */
const reportedMs = 10_000;
const saysNothing = /isn't writeable|Connection is closed/;

/** Connects; rejects `inbox_failed` when there is no server within 3 seconds, or no tables within a minute. */
export async function openConnection(settings: BullmqSettings): Promise<Connection> {
  const {
    backend: base,
    readyMs,
    ...rest
  } = settings.backend === "redis" ? onRedis(settings) : onPostgres(settings);
  if (settings.backend === "redis") leaveWithoutDatabase(base as unknown as RedisUser);
  // Callers get their errors; these events add nothing.
  let reported: { readonly error: Error; readonly at: number } | undefined;
  base.on("error", (error) => {
    if (!saysNothing.test(String(error))) reported = { error, at: performance.now() };
  });
  const reasonOf = (error: unknown): unknown => {
    const isLate = reported === undefined || performance.now() - reported.at > reportedMs;
    return isLate || !saysNothing.test(String(error)) ? error : reported?.error;
  };
  const closeAll = async (): Promise<void> => {
    await base.close(true).catch(() => {});
  };
  try {
    await untilReady(base, readyMs);
    if (isSelectRefused(reported?.error)) throw reported?.error;
  } catch (error) {
    void closeAll();
    // A reported error says more than a timeout.
    throw serverErrorOf(reported?.error ?? error, settings.place, settings.prefix);
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
        connection: workerConnection(settings) as never,
        autorun: false,
        lockDuration: leaseMs,
        stalledInterval: Math.ceil(leaseMs / 5),
        maxStalledCount: neverFail,
        skipVersionCheck: true,
        name: processName,
      };
      const worker: Worker =
        settings.backend === "redis"
          ? new Worker(name, null, options)
          : (new Worker(name, null, options, (queue, given) => {
              const connection = postgresConnection(options.connection);
              const own = { ...given, connection: {} };
              return new PostgresQueueBackend(connection, queue, own, true, queue);
            }) as unknown as Worker);
      if (settings.backend === "redis") {
        leaveWithoutDatabase(worker as unknown as RedisUser);
        outliveErrors(worker.backend as unknown as RedisClients);
      }
      return readable(worker);
    },
    ...rest,
    reasonOf,
    close: closeAll,
  };
}

interface Base
  extends Pick<Connection, "setting" | "onConnected" | "ownersOf" | "forget" | "redis"> {
  readonly backend: IQueueBackend;
  readonly readyMs: number;
}

/** A user of one connection of ioredis. */
interface RedisUser {
  readonly client: Promise<{ disconnect(reconnect: boolean): void }>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** Leaves a server that refuses the database, and tries again: ioredis would go on in database 0. It says so before it is ready. */
function leaveWithoutDatabase(user: RedisUser): void {
  user.on("error", (error) => {
    if (!isSelectRefused(error)) return;
    user.client.then((client) => client.disconnect(true)).catch(() => {});
  });
}

interface RedisClients {
  readonly client: Promise<{ on(event: "error", listener: () => void): unknown }>;
  readonly blockingClient: RedisClients["client"];
}

/** Keeps the process from an error of a client that connects again while its worker closes: BullMQ listens no more then. */
function outliveErrors({ client, blockingClient }: RedisClients): void {
  for (const each of [client, blockingClient]) {
    each.then((one) => one.on("error", () => {})).catch(() => {});
  }
}

function onRedis({ connection, leaseMs }: BullmqSettings): Base {
  // A command that can't be sent must fail immediately: the request is answered 503, and nothing may be queued.
  const now = { enableOfflineQueue: false, maxRetriesPerRequest: 0 };
  const limits = { commandTimeout: answerMs, socketTimeout: answerMs };
  const options = { connectTimeout: openMs, ...limits, ...lasting(connection), ...now };
  const queueOptions = { connection: options, skipVersionCheck: true, lockDuration: leaseMs };
  const backend = createRedisBackend("reporthook", queueOptions);
  return {
    backend,
    readyMs: openMs,
    async setting(name) {
      const client = (await backend.client) as unknown as RedisConfig;
      const [, value] = await client.config("GET", name);
      return value ?? null;
    },
    onConnected(listener) {
      void backend.client.then((client) => client.on("ready", listener));
    },
    async ownersOf(queue, ids) {
      const client = (await backend.client) as unknown as RedisConfig;
      const { qualifiedName } = backend.forQueue(queue);
      return Promise.all(ids.map((id) => client.hget(`${qualifiedName}:${id}`, "pb")));
    },
    async forget() {},
    redis: async () => (await backend.client) as unknown as RedisCommands,
  };
}

interface RedisConfig extends Pick<RedisCommands, "hget"> {
  config(command: "GET", name: string): Promise<readonly string[]>;
}

function onPostgres({ connection, leaseMs }: BullmqSettings): Base {
  const options = { connectionTimeoutMillis: openMs, query_timeout: answerMs, migrate: true };
  const pool = postgresConnection({ ...options, ...connection });
  // For the jobs that are taken up as others are completed.
  const queueOptions = { connection, lockDuration: leaseMs };
  const backend = new PostgresQueueBackend(pool, "reporthook", queueOptions);
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
    redis: null,
    // The pool makes connections all the time.
    onConnected() {},
    async ownersOf(queue, ids) {
      const { rows } = await pool.pool.query<{ id: string; owner: string | null }>(
        "SELECT id, processed_by AS owner FROM job WHERE queue = $1 AND id = ANY($2)",
        [queue, ids],
      );
      const owners = new Map(rows.map(({ id, owner }) => [id, owner]));
      return ids.map((id) => owners.get(id) ?? null);
    },
    async forget(queue, now) {
      // BullMQ checks a key only when the same key comes again.
      await pool.pool.query("DELETE FROM dedup WHERE queue = $1 AND expire_at_ms <= $2", [
        queue,
        now,
      ]);
    },
  };
}

/** A connection whose loss does not end the process: pg would throw it while BullMQ uses a client. */
export function postgresConnection(options: Record<string, unknown>): PostgresConnection {
  const connection = new PostgresConnection(options);
  // The callers get the error.
  connection.pool.on("connect", (client) => client.on("error", () => {}));
  return connection;
}

function workerConnection({ backend, connection }: BullmqSettings): Record<string, unknown> {
  return backend === "redis"
    ? {
        connectTimeout: openMs,
        socketTimeout: silenceMs,
        ...lasting(connection),
        maxRetriesPerRequest: null,
      }
    : { connectionTimeoutMillis: openMs, query_timeout: answerMs, max: 5, ...connection };
}

/** Rejects unless a queue or a worker is connected within `ms` milliseconds. */
export async function untilReady(
  one: { waitUntilReady(): Promise<unknown> },
  ms: number,
): Promise<void> {
  if (await settlesWithin(systemClock, ms, one.waitUntilReady())) return;
  throw new Error(`no answer within ${ms} ms`);
}
