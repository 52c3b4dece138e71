import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cluster, Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { createInboxFixture, valid } from "../../../core/src/testing/inbox/fixture.ts";
import { testWith } from "../../../core/test-support/needs.ts";
import { startCluster, startSentinel } from "../../test-support/redis-groups.ts";
import { noPostgres, noRedis, startPostgres, startRedis } from "../../test-support/servers.ts";
import { type BullmqInboxOptions, bullmqInbox } from "../index.ts";

const patienceMs = 60_000;

/** Stores one and works on it there; resolves to the inbox's identity. */
async function used(
  connection: BullmqInboxOptions["connection"],
  backend?: "postgres",
): Promise<unknown> {
  const inbox = bullmqInbox({ connection, backend, logger: false });
  const { put, work, end } = createInboxFixture(inbox, patienceMs);
  await inbox.open();
  const id = await put({ signature: randomUUID() });
  await work("verify", valid);
  expect((await inbox.get(id))?.state).toBe("verified");
  await end();
  return inbox.identity;
}

testWith(noPostgres)(
  "connection leads to a socket of PostgreSQL, in each way to say so",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "reporthook-socket-"));
    chmodSync(folder, 0o777);
    const server = await startPostgres(["-c", `unix_socket_directories=${folder}`]);
    const { port, password } = new URL(server.url);
    const place = `bullmq:postgres:${folder}/.s.PGSQL.${port}/postgres:reporthook`;
    const who = `postgres://postgres:${password}`;
    expect(await used(`${who}@/postgres?host=${folder}&port=${port}`)).toBe(place);
    expect(await used(`${who}@${encodeURIComponent(folder)}:${port}/postgres`)).toBe(place);
    const options = { host: folder, port, user: "postgres", password, database: "postgres" };
    expect(await used(options, "postgres")).toBe(place);
    await server.stop();
    rmSync(folder, { recursive: true });
  },
);

describe.skipIf(noRedis !== null)(
  `connection${noRedis === null ? "" : ` (skipped: ${noRedis})`}`,
  () => {
    it("leads to a socket and to another database", async () => {
      const folder = mkdtempSync(join(tmpdir(), "reporthook-socket-"));
      const path = join(folder, "redis.sock");
      const server = await startRedis(["--unixsocket", path]);
      expect(await used({ path })).toBe(`bullmq:redis:${path}:reporthook`);
      expect(await used({ path, db: 2 })).toBe(`bullmq:redis:${path}?db=2:reporthook`);
      const client = new Redis(server.url, { db: 2 });
      expect(await client.dbsize()).toBeGreaterThan(0);
      client.disconnect();
      await server.stop();
      const away = bullmqInbox({ connection: { path }, logger: false });
      await expect(away.open()).rejects.toThrow(`The inbox at redis:${path}: it can't be reached`);
      await away.close();
      rmSync(folder, { recursive: true });
    });

    it("leads by Sentinels to their primary", async () => {
      const server = await startRedis();
      const sentinel = await startSentinel(server);
      const sentinels = [{ host: "127.0.0.1", port: sentinel.port }];
      const place = `redis+sentinel://127.0.0.1:${sentinel.port}/main`;
      expect(await used({ sentinels, name: "main" })).toBe(`bullmq:${place}:reporthook`);
      await sentinel.stop();
      const away = bullmqInbox({ connection: { sentinels, name: "main" }, logger: false });
      await expect(away.open()).rejects.toThrow(`The inbox at ${place}: it can't be reached`);
      await away.close();
      await server.stop();
    });

    it("to a node of a Redis Cluster fails at the start, and says what to give", async () => {
      const nodes = await startCluster();
      for (const { url } of nodes) {
        const inbox = bullmqInbox({ connection: url, logger: false });
        const way = /is a node of a Redis Cluster, over which .* give a Redis/;
        await expect(inbox.open()).rejects.toThrow(way);
        expect(await inbox.health()).toEqual({ ok: false, error: expect.stringMatching(way) });
        await inbox.close();
      }
      await Promise.all(nodes.map((node) => node.stop()));
    });

    it("is asked at the start whether it takes what is to be stored", async () => {
      const server = await startRedis();
      const client = new Redis(server.url);
      await client.call("REPLICAOF", "127.0.0.1", "1");
      const inbox = bullmqInbox({ connection: server.url, logger: false });
      await expect(inbox.open()).rejects.toThrow(/connect to the primary/);
      expect((await inbox.health()).ok).toBe(false);
      await client.call("REPLICAOF", "NO", "ONE");
      await inbox.open();
      expect(await inbox.health()).toEqual({ ok: true });
      await inbox.close();
      client.disconnect();
      await server.stop();
    });

    it("given as a client is refused", () => {
      const client = new Redis({ lazyConnect: true, password: "hidden" });
      const cluster = new Cluster([{ host: "127.0.0.1" }], { lazyConnect: true });
      for (const connection of [client, cluster]) {
        const make = () => bullmqInbox({ connection } as unknown as BullmqInboxOptions);
        expect(make).toThrow(TypeError);
        expect(make).toThrow(/connection is a client.*its URL or its options/);
      }
      client.disconnect();
      cluster.disconnect();
    });
  },
);
