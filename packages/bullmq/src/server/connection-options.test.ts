import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { LivedClock, systemClock } from "@reporthook/core/internals";
import { describeWith, testWith } from "@reporthook/test-support/needs";
import { startCluster, startSentinel } from "@reporthook/test-support/redis-groups";
import {
  endsWithTest,
  noPostgres,
  noRedis,
  startPostgres,
  startRedis,
} from "@reporthook/test-support/servers";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { createInboxFixture, storedRequest, valid } from "@reporthook/testing/internals";
import { Cluster, Redis } from "ioredis";
import { expect, it, vi } from "vitest";
import { type BullmqInboxOptions, bullmqInbox } from "../index.ts";
import { postgresConnection } from "./postgres.ts";
import { bullmqSettingsOf } from "./settings.ts";

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
  "the option connection leads to a socket of PostgreSQL, in each way to say so",
  async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o777);
    const server = await endsWithTest(startPostgres(["-c", `unix_socket_directories=${folder}`]));
    const { port, password } = new URL(server.url);
    const place = `bullmq:postgres:${folder}/.s.PGSQL.${port}/postgres:reporthook`;
    const who = `postgres://postgres:${password}`;
    expect(await used(`${who}@/postgres?host=${folder}&port=${port}`)).toBe(place);
    expect(await used(`${who}@${encodeURIComponent(folder)}:${port}/postgres`)).toBe(place);
    const options = { host: folder, port, user: "postgres", password, database: "postgres" };
    expect(await used(options, "postgres")).toBe(place);
  },
);

testWith(noPostgres)(
  "a role with few connections, or that may make no tables, is told what it needs",
  async () => {
    const server = await endsWithTest(startPostgres());
    const { connection } = bullmqSettingsOf({ connection: server.url });
    const owner = postgresConnection(connection);
    await owner.pool.query(
      "CREATE ROLE few LOGIN PASSWORD 'pw' CONNECTION LIMIT 2; CREATE ROLE poor LOGIN PASSWORD 'pw'; GRANT CREATE ON DATABASE postgres TO few",
    );
    const as = (role: string) => {
      const { host } = new URL(server.url);
      return bullmqInbox({ connection: `postgres://${role}:pw@${host}/postgres`, logger: false });
    };
    const poor = as("poor");
    await expect(poor.open()).rejects.toThrow(/may not make BullMQ's tables.*migrate: false/);
    await poor.close();
    const few = as("few");
    await few.open();
    const errors: unknown[] = [];
    const stages = (["verify", "handle"] as const).map((stage) =>
      few.consume(stage, async () => ({ to: "handled" }), {
        receiver: "reports",
        concurrency: 4,
        clock: new LivedClock(systemClock),
        onError: (error) => errors.push(error),
      }),
    );
    await vi.waitFor(
      () => expect(String(errors[0])).toMatch(/up to 22 with one receiver/),
      patienceMs,
    );
    await Promise.all(stages.map((stage) => stage.stop()));
    await few.close();
    await owner.close();
  },
);

describeWith(noRedis)("connection", () => {
  it("the option connection leads to a socket and to another database of Redis", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "redis.sock");
    const server = await endsWithTest(startRedis(["--unixsocket", path]));
    expect(await used({ path })).toBe(`bullmq:redis:${path}:reporthook`);
    expect(await used({ path, db: 2 })).toBe(`bullmq:redis:${path}?db=2:reporthook`);
    const client = new Redis(server.url, { db: 2 });
    expect(await client.dbsize()).toBeGreaterThan(0);
    client.disconnect();
    await server.kill();
    const away = bullmqInbox({ connection: { path }, logger: false });
    await expect(away.open()).rejects.toThrow(`The inbox at redis:${path}: it can't be reached`);
    await away.close();
  });

  it("the option connection leads by Sentinels to their primary", async () => {
    const server = await endsWithTest(startRedis());
    const sentinel = await startSentinel(server);
    const sentinels = [{ host: "127.0.0.1", port: sentinel.port }];
    const place = `redis+sentinel://127.0.0.1:${sentinel.port}/main`;
    expect(await used({ sentinels, name: "main" })).toBe(`bullmq:${place}:reporthook`);
    await sentinel.stop();
    const away = bullmqInbox({ connection: { sentinels, name: "main" }, logger: false });
    await expect(away.open()).rejects.toThrow(`The inbox at ${place}: it can't be reached`);
    await away.close();
  });

  it("a node of a Redis Cluster fails at the start, and the error says what to give", async () => {
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

  it("a Redis is asked at the start whether it takes writes", async () => {
    const server = await endsWithTest(startRedis());
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
  });

  it("a database that the server lacks fails at the start, and no other database is taken", async () => {
    const server = await endsWithTest(startRedis(["--databases", "4"]));
    const huge = `${server.url}/99999999999`;
    for (const connection of [`${server.url}/99`, huge, { url: server.url, db: 4 }]) {
      const inbox = bullmqInbox({ connection, logger: false });
      const said = /it has no database of that number: see db in connection/;
      await expect(inbox.open()).rejects.toThrow(said);
      const { make } = createInboxFixture(inbox, patienceMs);
      await expect(inbox.add(await make(), { to: "received" })).rejects.toThrow(said);
      expect(await inbox.health()).toMatchObject({ ok: false });
      await inbox.close();
    }
    const client = new Redis(server.url);
    expect(await client.info("keyspace")).not.toMatch(/db\d/);
    client.disconnect();
  });

  it("a server that came back without the database has nothing stored in another database", async () => {
    const server = await endsWithTest(startRedis());
    const inbox = bullmqInbox({ connection: `${server.url}/9`, logger: false });
    const { make, put } = createInboxFixture(inbox, patienceMs);
    await put({ signature: randomUUID() });
    await server.kill();
    const fewer = spawn("redis-server", [
      "--port",
      new URL(server.url).port,
      "--databases",
      "2",
      "--save",
      "",
    ]);
    const client = new Redis(server.url);
    client.on("error", () => {});
    const refusal = async (): Promise<string> => {
      const delivery = await make({ signature: randomUUID() });
      return await inbox.add(delivery, { to: "received" }).then(String, String);
    };
    await vi.waitFor(
      async () => expect(await refusal()).toContain("no database of that number"),
      patienceMs,
    );
    expect(await client.info("keyspace")).not.toMatch(/db\d/);
    await inbox.close();
    client.disconnect();
    fewer.kill("SIGKILL");
  });

  it("a user that may not use the keys fails at the start, and the error names their pattern, which covers all", async () => {
    const server = await endsWithTest(startRedis());
    const client = new Redis(server.url);
    await client.call("ACL", "SETUSER", "app", "on", ">pw", "+@all", "~app:*");
    const connection = server.url.replace("//", "//app:pw@");
    const inbox = bullmqInbox({ connection, prefix: "app", logger: false });
    await expect(inbox.open()).rejects.toThrow(/ACL does not permit the keys: add ~bull:app-\*/);
    await client.call("ACL", "SETUSER", "app", "~bull:app-*");
    await inbox.open();
    expect(await inbox.requests?.add(storedRequest("1"))).toBeNull();
    expect((await inbox.requests?.get("1"))?.id).toBe("1");
    await inbox.prune(new Date());
    await inbox.close();
    client.disconnect();
  });

  it("a user that may not choose a database fails at the start, and no other database is taken", async () => {
    const server = await endsWithTest(startRedis());
    const client = new Redis(server.url);
    await client.call("ACL", "SETUSER", "app", "on", ">pw", "+@all", "-select", "~*");
    const connection = `${server.url.replace("//", "//app:pw@")}/1`;
    const inbox = bullmqInbox({ connection, logger: false });
    await expect(inbox.open()).rejects.toThrow(/ACL does not permit a command.*'select' command/);
    const { make } = createInboxFixture(inbox, patienceMs);
    await expect(inbox.add(await make(), { to: "received" })).rejects.toThrow(/'select' command/);
    expect(await client.info("keyspace")).not.toMatch(/db\d/);
    await inbox.close();
    client.disconnect();
  });

  it("a client given as connection is refused", () => {
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
});
