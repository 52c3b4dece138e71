import { PostgresConnection, PostgresQueueBackend, Worker } from "bullmq";
import { answerMs, openMs, type ServerDriver } from "./driver.ts";
import type { BullmqSettings } from "./settings.ts";

/** Time limit of creating or migrating the tables, maybe by other processes, in milliseconds. */
const migrateMs = 60_000;

/** Connects to PostgreSQL. */
export function onPostgres({ connection, leaseMs }: BullmqSettings): ServerDriver {
  const limits = { connectionTimeoutMillis: openMs, query_timeout: answerMs };
  const base = postgresConnection({ ...limits, migrate: true, ...connection });
  const { pool } = base;
  // For the jobs that are taken up as others are completed.
  const queueOptions = { connection, lockDuration: leaseMs };
  const backend = new PostgresQueueBackend(base, "reporthook", queueOptions);
  return {
    backend,
    readyMs: migrateMs,
    workerOf(name, given) {
      const own = { ...limits, max: 5, ...connection };
      const options = { ...given, connection: {} };
      return new Worker(name, null, options, (queue, rest) => {
        const connected = { ...rest, connection: {} };
        return new PostgresQueueBackend(postgresConnection(own), queue, connected, true, queue);
      }) as unknown as Worker;
    },
    async setting(name) {
      const { rows } = await pool.query<{ setting: string }>(
        "SELECT setting FROM pg_settings WHERE name = $1",
        [name],
      );
      return rows[0]?.setting ?? null;
    },
    redis: () => Promise.reject(new TypeError("PostgreSQL keeps no requests")),
    // The pool makes connections all the time.
    onConnected() {},
    async ownersOf(queue, ids) {
      const { rows } = await pool.query<{ id: string; owner: string | null }>(
        "SELECT id, processed_by AS owner FROM job WHERE queue = $1 AND id = ANY($2)",
        [queue, ids],
      );
      const owners = new Map(rows.map(({ id, owner }) => [id, owner]));
      return ids.map((id) => owners.get(id) ?? null);
    },
    async removeJob(queue, id, addedAt, counter) {
      const { rowCount } = await pool.query(
        `WITH removed AS (
          DELETE FROM job WHERE queue = $1 AND id = $2 AND added_at_ms = $3 AND state <> 'active'
          RETURNING queue
        ), counted AS (
          INSERT INTO meta (queue, field, value)
          SELECT queue, $4::text, 1 FROM removed WHERE $4::text IS NOT NULL
          ON CONFLICT (queue, field) DO UPDATE SET value = meta.value::bigint + 1
        )
        SELECT queue FROM removed`,
        [queue, id, addedAt, counter],
      );
      return rowCount === 1;
    },
    async updateFailed(queue, id, was, data) {
      await pool.query(
        "UPDATE job SET data = $4 WHERE queue = $1 AND id = $2 AND data = $3 AND state = 'failed'",
        [queue, id, JSON.stringify(was), JSON.stringify(data)],
      );
    },
    async forget(queue, now) {
      // BullMQ checks a key only when the same key comes again.
      await pool.query("DELETE FROM dedup WHERE queue = $1 AND expire_at_ms <= $2", [queue, now]);
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
