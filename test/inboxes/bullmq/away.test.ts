import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { bullmqInbox } from "@reporthook/bullmq";
import { createClient, createReceiver, type ReceiverOptions } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { listenLocally } from "@reporthook/test-support/listening";
import { patient } from "@reporthook/test-support/patient";
import { onEachServer } from "@reporthook/test-support/servers";
import { expect, it, vi } from "vitest";

const ackMs = 1_500;
const patienceMs = 60_000;

onEachServer((server, { kind }) => {
  it("a request while the server is away is answered 503 in time; afterwards all goes on by itself", async () => {
    const emulator = createEmulator();
    const lines: string[] = [];
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox: bullmqInbox({ connection: server().url, leaseMs: 2_000, logger: false }),
      limits: { ackMs },
      logger: {
        warn: (fields, message) => lines.push(`${message} ${JSON.stringify(fields)}`),
        error: (fields, message) => lines.push(`${message} ${JSON.stringify(fields)}`),
      },
    });
    const handled: (string | null)[] = [];
    receiver.on("report.complete", (event) => void handled.push(event.reportId));
    const web = createServer(nodeHandler(receiver));
    const url = `${await listenLocally(web)}/`;
    const send = async (reportId: string): Promise<number> => {
      const signal = AbortSignal.timeout(ackMs + patienceMs);
      const sent = emulator.notification("report.complete", { reportId });
      return (await fetch(url, { ...sent, signal })).status;
    };

    await receiver.start();
    await vi.waitUntil(async () => (await send("before")) === 200, patienceMs);
    await vi.waitUntil(() => handled.includes("before"), patienceMs);
    await server().kill();
    const away = Array.from({ length: 20 }, (_, index) => send(`away ${index}`));
    expect(new Set(await Promise.all(away))).toEqual(new Set([503]));
    expect((await receiver.health()).ready).toBe(false);
    await server().start();
    await vi.waitUntil(async () => (await send("after")) === 200, patienceMs);
    await vi.waitUntil(() => handled.includes("after"), patienceMs);
    await vi.waitUntil(async () => (await receiver.health()).ready, patienceMs);
    // A delivery that was not acknowledged must not be kept in memory and stored later.
    expect(handled.filter((id) => id?.startsWith("away"))).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.join("\n")).not.toContain("password");
    web.close();
    await receiver.close();
  });

  /** A receiver that only stores, and what sends it one: the status of its answer. */
  const storing = async (name: string, options: Partial<ReceiverOptions>) => {
    const inbox = bullmqInbox({ connection: server().url, prefix: name, logger: false });
    const client = { authorize: async () => "valid" as const };
    const receiver = createReceiver({ client, inbox, name, autostart: false, ...options });
    const emulator = createEmulator();
    await inbox.open();
    const send = async (): Promise<number> => {
      const sent = emulator.notification("report.complete");
      return (await receiver.fetch(new Request("https://app/hook", sent))).status;
    };
    return { inbox, receiver, send };
  };

  // Redis only: PostgreSQL has a process for each connection.
  const hangs = kind === "redis" ? it : null;
  hangs?.("a server that hangs is answered 503 for, and nothing piles up", async () => {
    const { receiver, send } = await storing("hung", { logger: false, limits: { ackMs } });
    await vi.waitUntil(async () => (await send()) === 200, patienceMs);
    process.kill(server().pid() ?? 0, "SIGSTOP");
    expect(await Promise.all([send(), send(), send()])).toEqual([503, 503, 503]);
    process.kill(server().pid() ?? 0, "SIGCONT");
    await vi.waitUntil(async () => (await send()) === 200, patienceMs);
    await receiver.close();
  });

  const redis = kind === "redis" ? it : null;
  const tell = (...command: string[]): void => {
    execFileSync("redis-cli", ["-u", server().url, ...command], { stdio: "ignore" });
  };
  redis?.("an inbox that its server has lost is told in one warning", async () => {
    const lines: unknown[] = [];
    const logger = {
      warn: (fields: object, message: string) => lines.push({ message, ...fields }),
    };
    const inbox = bullmqInbox({ connection: server().url, prefix: "emptied", logger });
    await inbox.open();
    await inbox.keepNotes("reports", { "now/x": "1" });
    await inbox.health();
    lines.length = 0;
    tell("flushall");
    await inbox.health();
    await inbox.health();
    const message = "The server has lost the inbox: what was acknowledged before may be gone.";
    expect(lines).toEqual([{ message, inbox: expect.any(String), receivers: ["reports"] }]);
    await inbox.close();
  });

  redis?.(
    "a server that takes no writes is not ready, and one that lost its data is filled again",
    async () => {
      const lines: unknown[] = [];
      const { inbox, receiver, send } = await storing("no_writes", {
        ...patient,
        logger: { warn: () => {}, error: ({ error }) => lines.push(error) },
      });
      expect([await send(), (await receiver.health()).ready]).toEqual([200, true]);
      tell("config", "set", "maxmemory", "1");
      expect(await send()).toBe(503);
      const full = /^The inbox at .*: it is out of memory: raise maxmemory, .*OOM/;
      expect(lines).toEqual([expect.stringMatching(/it is out of memory: raise maxmemory/)]);
      const { ready, inbox: told } = await receiver.health();
      expect([ready, told.error]).toEqual([false, expect.stringMatching(full)]);
      tell("config", "set", "maxmemory", "0");
      expect([await send(), (await receiver.health()).ready]).toEqual([200, true]);
      tell("flushall");
      expect(await send()).toBe(200);
      await inbox.prune(new Date());
      expect((await inbox.list()).length).toBe(1);
      await receiver.close();
    },
  );

  redis?.("a server that asks for another password is not said to be away", async () => {
    const inbox = bullmqInbox({ connection: server().url, prefix: "password", logger: false });
    await inbox.open();
    tell("config", "set", "requirepass", "another");
    tell("-a", "another", "client", "kill", "type", "normal");
    const says = async (text: string): Promise<boolean> => {
      const { error = "" } = await inbox.health();
      return error.includes(text);
    };
    await vi.waitUntil(() => says("it asks for another password"), patienceMs);
    tell("-a", "another", "config", "set", "requirepass", "");
    await vi.waitUntil(async () => (await inbox.health()).ok, patienceMs);
    await inbox.close();
  });

  it("start() without a server rejects, says where it looked, and close() ends", async () => {
    await server().kill();
    const inbox = bullmqInbox({ connection: server().url, logger: false });
    await expect(inbox.open()).rejects.toMatchObject({
      code: "inbox_failed",
      message: expect.stringContaining(new URL(server().url).host),
    });
    await expect(inbox.open()).rejects.toThrow(/^((?!:password).)*$/s);
    await inbox.close();
    await server().start();
  });
});
