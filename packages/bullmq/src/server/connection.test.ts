import { fixtureOf } from "@reporthook/test-support/fixture";
import { testWith } from "@reporthook/test-support/needs";
import {
  endsWithTest,
  noPostgres,
  noRedis,
  startPostgres,
  startRedis,
} from "@reporthook/test-support/servers";
import { handled, valid } from "@reporthook/testing/internals";
import { Redis } from "ioredis";
import { expect } from "vitest";
import { bullmqInbox } from "../index.ts";
import { openConnection } from "./connection.ts";
import { openMs } from "./driver.ts";
import { postgresConnection } from "./postgres.ts";
import { bullmqSettingsOf } from "./settings.ts";

testWith(noPostgres)(
  "a server that ends takes no process with it that has a connection in use",
  async () => {
    const server = await endsWithTest(startPostgres());
    const { connection } = bullmqSettingsOf({ connection: server.url, logger: false });
    const { pool } = postgresConnection(connection);
    // As BullMQ has it: taken out of the pool, where nobody listens for an error.
    const client = await pool.connect();
    const asked = client.query("SELECT pg_sleep(600)").catch((error: unknown) => String(error));
    await server.kill();
    expect(await asked).toMatch(/Error/);
    client.release();
    await server.start();
  },
);

const endings = { "() => null": () => null, '() => "soon"': () => "soon", false: false };
for (const [shown, retryStrategy] of Object.entries(endings)) {
  testWith(noRedis)(
    `an inbox goes on after its Redis was away with the retryStrategy ${shown}, at which ioredis gives up`,
    async () => {
      const server = await endsWithTest(startRedis());
      const { hostname: host, port } = new URL(server.url);
      const connection = { host, port: Number(port), retryStrategy };
      const inbox = bullmqInbox({ connection, logger: false });
      const { consume, put, until } = fixtureOf(inbox);
      const { jobs } = consume("verify", valid);
      await put();
      await until(() => jobs.length === 1, "it is verified");
      await server.kill();
      await expect(inbox.open()).rejects.toThrow("The inbox at");
      await server.start();
      const opens = () =>
        inbox
          .open()
          .then(() => true)
          .catch(() => false);
      await until(opens, "it opens again");
      await put();
      await until(() => jobs.length === 2, "it works again");
    },
  );
}

testWith(noRedis)(
  "an inbox is closed while its Redis takes no more clients, and no error of one ends the process",
  async () => {
    const server = await endsWithTest(startRedis());
    const inbox = bullmqInbox({ connection: server.url, logger: false });
    const { consume, put, until } = fixtureOf(inbox);
    const consuming = [consume("verify", valid), consume("handle", handled)];
    await put();
    await until(() => consuming[1]?.jobs.length === 1, "it is handled");
    const admin = new Redis(server.url);
    await admin.config("SET", "maxclients", "1");
    admin.disconnect();
    const aMoment = () => new Promise((resolve) => setTimeout(resolve, 1_000));
    await aMoment();
    await Promise.all(consuming.map(({ consumer }) => consumer.stop()));
    await inbox.close();
    // BullMQ connects a client again that is no longer needed. Vitest reports what would end the process.
    await aMoment();
  },
);

testWith(noRedis)(
  "an inbox that is told to speak TLS to a Redis without it names that as the likely cause, and no other does",
  async () => {
    const server = await endsWithTest(startRedis());
    const { hostname: host, port } = new URL(server.url);
    const message = async (connection: string | object) => {
      const inbox = bullmqInbox({ connection, logger: false });
      const error = await inbox.open().catch((thrown: unknown) => thrown);
      await inbox.close();
      return String(error);
    };
    const way = "does not speak it: begin the URL with redis://, or omit tls";
    expect(await message(server.url.replace("redis:", "rediss:"))).toContain(way);
    expect(await message({ host, port: Number(port), tls: {} })).toContain(way);
    await server.kill();
    expect(await message(server.url.replace("redis:", "rediss:"))).toContain("can't be reached");
  },
);

testWith(noPostgres)("the tables may take longer to be made than a connection", async () => {
  const server = await endsWithTest(startPostgres());
  const settings = bullmqSettingsOf({ connection: server.url, logger: false });
  const connection = postgresConnection(settings.connection);
  const other = await connection.pool.connect();
  // The lock of BullMQ, which one process holds while it makes the tables and the others wait for.
  await other.query("SELECT pg_advisory_lock(x'42554c4c'::int, hashtext('bullmq'))");
  const opening = openConnection(settings);
  const late = new Promise((resolve) => setTimeout(resolve, openMs + 500, "waits"));
  expect(await Promise.race([opening, late])).toBe("waits");
  await other.query("SELECT pg_advisory_unlock_all()");
  await (await opening).close();
  other.release();
  await connection.close();
});
