import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import timers from "node:timers";
import { testWith } from "@reporthook/test-support/needs";
import {
  endsWithTest,
  noPostgres,
  noRedis,
  startPostgres,
  startRedis,
} from "@reporthook/test-support/servers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
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

/** An open inbox that had nothing to name, and the settings that it names from now on. */
async function opened(url: string) {
  const lines: object[] = [];
  const logger = { warn: (fields: object) => void lines.push(fields) };
  const inbox = bullmqInbox({ connection: url, logger });
  await inbox.open();
  expect(lines).toEqual([]);
  return { inbox, lines };
}

/** Has a Redis do something. */
async function command(url: string, text: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(`${text}\r\n`);
  await once(socket, "data");
  socket.destroy();
}

describe("durability", () => {
  testWith(noRedis)("checkDurability() names nothing on a Redis that loses nothing", async () => {
    const server = await endsWithTest(startRedis());
    expect(await named(server.url)).toEqual([]);
  });

  testWith(noRedis)("checkDurability() asks again every 3 minutes", async () => {
    const every = vi.spyOn(timers, "setInterval");
    syncBuiltinESMExports();
    onTestFinished(() => {
      every.mockRestore();
      syncBuiltinESMExports();
    });
    const server = await endsWithTest(startRedis());
    const { inbox, lines } = await opened(server.url);
    const checks = every.mock.calls.filter(([, ms]) => ms === 180_000);
    expect(checks).toHaveLength(1);
    const minutesLater = checks[0]?.[0] as () => void;
    await command(server.url, "CONFIG SET maxmemory-policy allkeys-lru");
    minutesLater();
    await vi.waitUntil(() => lines.length > 0, { timeout: 60_000 });
    expect(lines).toMatchObject([{ "maxmemory-policy": "allkeys-lru" }]);
    await inbox.close();
  });

  testWith(noRedis)("checkDurability() asks again when the server has started again", async () => {
    const settings: string[] = [];
    const server = await endsWithTest(startRedis(settings));
    const { inbox, lines } = await opened(server.url);
    await server.kill();
    settings.push("--appendonly", "no");
    await server.start();
    await vi.waitUntil(() => lines.length > 0, { timeout: 60_000 });
    expect(lines).toMatchObject([{ appendonly: "no" }]);
    await inbox.close();
  });

  testWith(noRedis)("checkDurability() asks again after a reconnection", async () => {
    const server = await endsWithTest(startRedis());
    const { inbox, lines } = await opened(server.url);
    const reconnect = (policy: string): Promise<void> =>
      command(server.url, `CONFIG SET maxmemory-policy ${policy}\r\nCLIENT KILL TYPE normal`);
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
  });

  testWith(noRedis)("checkDurability() warns once, without a password", async () => {
    const auth = ["--requirepass", "open-sesame"];
    const lax = ["--appendfsync", "everysec", "--maxmemory-policy", "allkeys-lru"];
    const server = await endsWithTest(startRedis([...lax, ...auth]));
    const url = server.url.replace("redis://", "redis://:open-sesame@");
    const lines = await named(url);
    expect(lines).toMatchObject([
      { appendfsync: "everysec", message: expect.stringMatching(/Set appendfsync always/) },
      { "maxmemory-policy": "allkeys-lru", message: expect.stringMatching(/noeviction/) },
    ]);
    expect(JSON.stringify(lines)).not.toContain("open-sesame");
  });

  testWith(noRedis)("checkDurability() names a Redis without a log", async () => {
    const server = await endsWithTest(startRedis(["--appendonly", "no"]));
    const lines = await named(server.url);
    expect(lines).toMatchObject([{ appendonly: "no" }]);
  });

  testWith(noPostgres)("checkDurability() names unsafe settings of PostgreSQL", async () => {
    const server = await endsWithTest(
      startPostgres(["-c", "synchronous_commit=off", "-c", "fsync=off"]),
    );
    const lines = await named(server.url);
    expect(lines).toMatchObject([{ fsync: "off" }, { synchronous_commit: "off" }]);
    expect(JSON.stringify(lines)).not.toContain("password");
  });

  it("checkDurability() says so when the server does not tell", async () => {
    const setting = () => Promise.reject(new Error("NOPERM"));
    const found = await checkDurability("redis", { setting });
    expect(found.map(({ value }) => value)).toEqual(["unknown", "unknown", "unknown"]);
  });
});
