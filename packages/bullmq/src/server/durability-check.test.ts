import { describe, expect, it } from "vitest";
import { testWith } from "../../../core/test-support/needs.ts";
import { noPostgres, noRedis, startPostgres, startRedis } from "../../test-support/servers.ts";
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

describe("checkDurability", () => {
  testWith(noRedis)("names nothing on a Redis that loses nothing", async () => {
    const server = await startRedis();
    expect(await named(server.url)).toEqual([]);
    await server.stop();
  });

  testWith(noRedis)("names what a Redis may lose, once, without a password", async () => {
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

  testWith(noRedis)("names a Redis without a log", async () => {
    const server = await startRedis(["--appendonly", "no"]);
    const lines = await named(server.url);
    expect(lines).toMatchObject([{ appendonly: "no" }]);
    await server.stop();
  });

  testWith(noPostgres)("names what a PostgreSQL may lose", async () => {
    const server = await startPostgres(["-c", "synchronous_commit=off", "-c", "fsync=off"]);
    const lines = await named(server.url);
    expect(lines).toMatchObject([{ fsync: "off" }, { synchronous_commit: "off" }]);
    expect(JSON.stringify(lines)).not.toContain("password");
    await server.stop();
  });

  it("says so when the server does not tell", async () => {
    const setting = () => Promise.reject(new Error("NOPERM"));
    const found = await checkDurability("redis", { setting });
    expect(found.map(({ value }) => value)).toEqual(["unknown", "unknown", "unknown"]);
  });
});
