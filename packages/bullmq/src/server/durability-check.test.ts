import { once } from "node:events";
import { connect } from "node:net";
import { testWith } from "@reporthook/test-support/needs";
import { noPostgres, noRedis, startPostgres, startRedis } from "@reporthook/test-support/servers";
import { describe, expect, it, vi } from "vitest";
import { bullmqInbox } from "../index.ts";
import { checkDurability } from "./durability-check.ts";

/** The settings that an inbox names at its start. */
async function named(url: string): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  const logger = {
    warn: (fields: object, message: string) => void lines.push({ ...fields, message }),
    error: () => expect.unreachable(),
  };
  const inbox = bullmqInbox({ connection: url, logger });
  await inbox.open();
  await inbox.close();
  await inbox.open();
  await inbox.close();
  return lines;
}

describe("durability", () => {
  testWith(noRedis)("checkDurability() names nothing on a Redis that loses nothing", async () => {
    const server = await startRedis();
    expect(await named(server.url)).toEqual([]);
    await server.stop();
  });

  testWith(noRedis)("checkDurability() asks again after a reconnection", async () => {
    const server = await startRedis();
    const lines: object[] = [];
    const inbox = bullmqInbox({
      connection: server.url,
      logger: { warn: (fields) => void lines.push(fields) },
    });
    await inbox.open();
    expect(lines).toEqual([]);
    const reconnect = async (policy: string): Promise<void> => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      await once(socket, "connect");
      socket.write(`CONFIG SET maxmemory-policy ${policy}\r\nCLIENT KILL TYPE normal\r\n`);
      await once(socket, "data");
      socket.destroy();
    };
    await reconnect("allkeys-lru");
    await vi.waitUntil(() => lines.length > 0, { timeout: 60_000 });
    await reconnect("allkeys-lru");
    await reconnect("allkeys-lfu");
    await vi.waitUntil(() => lines.length > 1, { timeout: 60_000 });
    expect(lines).toMatchObject([
      { "maxmemory-policy": "allkeys-lru" },
      { "maxmemory-policy": "allkeys-lfu" },
    ]);
    await inbox.close();
    await server.stop();
  });

  testWith(noRedis)("checkDurability() warns once, without a password", async () => {
    const auth = ["--requirepass", "open-sesame"];
    const lax = ["--appendfsync", "everysec", "--maxmemory-policy", "allkeys-lru"];
    const server = await startRedis([...lax, ...auth]);
    const url = server.url.replace("redis://", "redis://:open-sesame@");
    const lines = await named(url);
    expect(lines).toMatchObject([
      { appendfsync: "everysec", message: expect.stringMatching(/Set appendfsync always/) },
      { "maxmemory-policy": "allkeys-lru", message: expect.stringMatching(/noeviction/) },
    ]);
    expect(JSON.stringify(lines)).not.toContain("open-sesame");
    await server.stop();
  });

  testWith(noRedis)("checkDurability() names a Redis without a log", async () => {
    const server = await startRedis(["--appendonly", "no"]);
    const lines = await named(server.url);
    expect(lines).toMatchObject([{ appendonly: "no" }]);
    await server.stop();
  });

  testWith(noPostgres)("checkDurability() names unsafe settings of PostgreSQL", async () => {
    const server = await startPostgres(["-c", "synchronous_commit=off", "-c", "fsync=off"]);
    const lines = await named(server.url);
    expect(lines).toMatchObject([{ fsync: "off" }, { synchronous_commit: "off" }]);
    expect(JSON.stringify(lines)).not.toContain("password");
    await server.stop();
  });

  it("checkDurability() says so when the server does not tell", async () => {
    const setting = () => Promise.reject(new Error("NOPERM"));
    const found = await checkDurability("redis", { setting });
    expect(found.map(({ value }) => value)).toEqual(["unknown", "unknown", "unknown"]);
  });
});
