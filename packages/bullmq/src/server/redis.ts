import { createRedisBackend, Worker } from "bullmq";
import { answerMs, openMs, type RedisCommands, type ServerDriver } from "./driver.ts";
import { isSelectRefused } from "./errors.ts";
import type { BullmqSettings } from "./settings.ts";

/** Longer than a BullMQ worker waits for a job. */
const silenceMs = 15_000;

const removeScript = `
  local addedAt = redis.call('HGET', KEYS[1], 'timestamp')
  if addedAt and addedAt ~= ARGV[2] then return 0 end
  if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('DEL', KEYS[1]) == 0 then return 0 end
  for index = 4, 5 do redis.call('ZREM', KEYS[index], ARGV[1]) end
  for index = 6, #KEYS do redis.call('LREM', KEYS[index], 1, ARGV[1]) end
  if ARGV[3] ~= '' then redis.call('HINCRBY', KEYS[3], ARGV[3], 1) end
  return 1`;

/** Where a job may wait: the sets, then the lists. */
const waitingKeys = ["prioritized", "delayed", "wait", "paused", "active"];

const updateScript = `
  if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return end
  if redis.call('HGET', KEYS[2], 'data') == ARGV[2] then redis.call('HSET', KEYS[2], 'data', ARGV[3]) end`;

/** Connects to Redis. */
export function onRedis({ connection, leaseMs }: BullmqSettings): ServerDriver {
  // A command that can't be sent must fail immediately: the request is answered 503, and nothing may be queued.
  const now = { enableOfflineQueue: false, maxRetriesPerRequest: 0 };
  const limits = { commandTimeout: answerMs, socketTimeout: answerMs };
  const options = { connectTimeout: openMs, ...limits, ...lasting(connection), ...now };
  const queueOptions = { connection: options, skipVersionCheck: true, lockDuration: leaseMs };
  const backend = createRedisBackend("reporthook", queueOptions);
  leaveWithoutDatabase(backend as unknown as RedisUser);
  const redis = async () => (await backend.client) as unknown as RedisCommands;
  const keyIn = (queue: string, name: string) => `${backend.forQueue(queue).qualifiedName}:${name}`;
  return {
    backend,
    readyMs: openMs,
    workerOf(name, given) {
      const waiting = { connectTimeout: openMs, socketTimeout: silenceMs };
      const own = { ...waiting, ...lasting(connection), maxRetriesPerRequest: null };
      const worker = new Worker(name, null, { ...given, connection: own });
      leaveWithoutDatabase(worker as unknown as RedisUser);
      outliveErrors(worker.backend as unknown as RedisClients);
      return worker;
    },
    async setting(name) {
      const [, value] = await (await redis()).config("GET", name);
      return value ?? null;
    },
    onConnected(listener) {
      void backend.client.then((client) => client.on("ready", listener));
    },
    async ownersOf(queue, ids) {
      const client = await redis();
      return Promise.all(ids.map((id) => client.hget(keyIn(queue, id), "pb")));
    },
    async removeJob(queue, id, addedAt, counter) {
      const names = [id, `${id}:lock`, "meta", ...waitingKeys];
      const keys = names.map((name) => keyIn(queue, name));
      const given = [...keys, id, String(addedAt), counter ?? ""];
      return (await (await redis()).eval(removeScript, keys.length, ...given)) === 1;
    },
    async updateFailed(queue, id, was, data) {
      const keys = ["failed", id].map((name) => keyIn(queue, name));
      const given = [id, JSON.stringify(was), JSON.stringify(data)];
      await (await redis()).eval(updateScript, 2, ...keys, ...given);
    },
    async forget() {},
    redis,
  };
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

/** A replica is left at most this often, so that its refusals are reported meanwhile. */
const leaveMs = 1_000;

/** The options of a connection of Redis, with which it is made again as long as the inbox is open. */
function lasting(given: BullmqSettings["connection"]): Record<string, unknown> {
  const names = ["retryStrategy", "sentinelRetryStrategy"] as const;
  const strategies = names.map((name) => [name, unending(given[name])]);
  return { ...leaveReplica(), ...given, ...Object.fromEntries(strategies) };
}

/**
 * The delays of a strategy; where it has none ioredis would give up, and the inbox would fail for good. Without one the first try is
 * made at once: most often the server is there, and what comes meanwhile is answered 503.
 */
function unending(given: unknown): (times: number) => number {
  return (times) => {
    const ms: unknown = typeof given === "function" ? given(times) : null;
    return typeof ms === "number" ? ms : Math.min((times - 1) * 100, 1_000);
  };
}

/** Leaves a server that became a replica, once a second: after a failover its address may lead to the new one. */
function leaveReplica(): { reconnectOnError(error: Error): boolean } {
  let at = performance.now();
  return {
    reconnectOnError({ message }) {
      const now = performance.now();
      if (!message.includes("READONLY") || now - at < leaveMs) return false;
      at = now;
      return true;
    },
  };
}
