import { expect, it } from "vitest";
import { startPostgres } from "../../../test/servers.ts";
import { postgresConnection } from "./engine.ts";
import { settingsOf } from "./settings.ts";

it("a server that ends takes no process with it that has a connection in use", async () => {
  const server = await startPostgres();
  const { connection } = settingsOf({ connection: server.url, logger: false });
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
});
