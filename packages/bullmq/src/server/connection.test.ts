import { testWith } from "@reporthook/test-support/needs";
import { noPostgres, startPostgres } from "@reporthook/test-support/servers";
import { expect } from "vitest";
import { openConnection, openMs, postgresConnection } from "./connection.ts";
import { bullmqSettingsOf } from "./settings.ts";

testWith(noPostgres)(
  "a server that ends takes no process with it that has a connection in use",
  async () => {
    const server = await startPostgres();
    const { connection } = bullmqSettingsOf({ connection: server.url, logger: false });
    const { pool } = postgresConnection(connection);
    try {
      // As BullMQ has it: taken out of the pool, where nobody listens for an error.
      const client = await pool.connect();
      const asked = client.query("SELECT pg_sleep(600)").catch((error: unknown) => String(error));
      await server.kill();
      expect(await asked).toMatch(/Error/);
      client.release();
      await server.start();
    } finally {
      await server.stop();
    }
  },
);

testWith(noPostgres)("the tables may take longer to be made than a connection", async () => {
  const server = await startPostgres();
  const settings = bullmqSettingsOf({ connection: server.url, logger: false });
  const connection = postgresConnection(settings.connection);
  const other = await connection.pool.connect();
  try {
    // The lock of BullMQ, which one process holds while it makes the tables and the others wait for.
    await other.query("SELECT pg_advisory_lock(x'42554c4c'::int, hashtext('bullmq'))");
    const opening = openConnection(settings);
    const late = new Promise((resolve) => setTimeout(resolve, openMs + 500, "waits"));
    expect(await Promise.race([opening, late])).toBe("waits");
    await other.query("SELECT pg_advisory_unlock_all()");
    await (await opening).close();
  } finally {
    other.release();
    await connection.close();
    await server.stop();
  }
});
