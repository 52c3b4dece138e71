import { createServer } from "node:http";
import { createReceiver, memoryInbox } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { listenLocally } from "@reporthook/test-support/listening";
import { expect, it, onTestFinished, vi } from "vitest";
import { Senders } from "./abuse/senders.ts";
import { Strangers } from "./abuse/strangers.ts";

const times = Number(process.env["ABUSE_FLOOD"] ?? 1);
vi.setConfig({ testTimeout: 180_000 * times });

// As docs/deploying.md has it, in shorter times; long enough for a machine that stands still for seconds.
const settings = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 250,
  keepAliveTimeout: 1_000,
  maxHeaderSize: 16_384,
};
const head = "POST /hook HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
const signed = `${head}X-svc-authorization: a-signature-that-is-slow\r\n`;
const garbage = `${head}Content-Length: 7\r\n\r\ngarbage`.repeat(50);

/** A server with the settings of docs/deploying.md, its genuine sender, and strangers. */
async function scene() {
  const lines: string[] = [];
  const handled: string[] = [];
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    inbox: memoryInbox(),
    limits: { bodyMs: 10_000, ackMs: 60_000 },
    logger: { warn: (_, message) => void lines.push(message) },
  });
  receiver.on("*", ({ id }) => void handled.push(id));
  const server = createServer(settings, nodeHandler(receiver));
  const url = await listenLocally(server);
  const senders = new Senders(`${url}/hook`);
  const strangers = new Strangers(Number(new URL(url).port));
  onTestFinished(async () => {
    strangers.leave();
    senders.close();
    server.close();
    await receiver.close();
  });
  let sent = 0;
  const genuine = async (count: number): Promise<number[]> => {
    const took: number[] = [];
    for (let i = 0; i < count; i++) {
      const from = performance.now();
      const headers = { "content-type": "application/json", "X-svc-authorization": `s-${++sent}` };
      const body = JSON.stringify({ status: "complete", report_id: `r-${sent}` });
      expect((await senders.send({ method: "POST", headers, body })).status).toBe(200);
      took.push(performance.now() - from);
    }
    return took;
  };
  const storm = async (): Promise<void> => {
    await strangers.idle(300 * times);
    await strangers.slow(100 * times, `${signed}Content-Length: 1000\r\n\r\n{`);
    await strangers.slow(100 * times, `${signed}Transfer-Encoding: chunked\r\n\r\n`);
    await strangers.slow(100 * times, `${head}X-Slow: `);
    await strangers.send(20 * times, garbage);
    await strangers.send(20 * times, Buffer.alloc(10_000, "\u0000\u00ff\r\n", "latin1"));
    await strangers.send(20 * times, `${head}X-Large: ${"x".repeat(20_000)}\r\n\r\n`);
  };
  return { receiver, lines, handled, strangers, genuine, storm };
}

it("each stranger who holds connections or sends garbage is cut off, and keeps nobody from being served", async () => {
  const { receiver, lines, handled, strangers, genuine, storm } = await scene();
  await storm();
  await genuine(200);
  await vi.waitFor(() => expect(strangers.open).toBe(0), { timeout: 60_000 });
  await genuine(10);
  await receiver.idle({ timeoutMs: 60_000 });
  expect(handled).toHaveLength(210);
  const counts = { received: 0, verified: 0, held: 0, rejected: 0, dead: 0 };
  expect(await receiver.inbox.counts()).toMatchObject(counts);
  const { statuses } = strangers;
  // No header in time, or no body: 408. Garbage gets an answer for each request that it looks like.
  expect(statuses.get("408")).toBeGreaterThan(0);
  expect(statuses.get("431")).toBe(20 * times);
  expect(statuses.get("400")).toBeGreaterThanOrEqual(20 * times * 50);
  expect([...statuses.keys()].sort()).toEqual(["400", "408", "431"]);
  expect(lines.length).toBeLessThan(10);
});

if (times > 1)
  it("the others wait at most twice as long in a storm as in calm", async () => {
    const { strangers, genuine, storm } = await scene();
    const [calm, stormy]: [number[], number[]] = [[], []];
    await genuine(500);
    for (let round = 0; round < 7; round++) {
      calm.push(p99(await genuine(500)));
      await storm();
      stormy.push(p99(await genuine(500)));
      await vi.waitFor(() => expect(strangers.open).toBe(0), { timeout: 60_000 });
    }
    const [usual, worse] = [median(calm), median(stormy)];
    console.log(`p99 in calm ${usual.toFixed(2)} ms, in a storm ${worse.toFixed(2)} ms`);
    expect(worse).toBeLessThan(Math.max(2 * usual, 25));
  });

function p99(took: readonly number[]): number {
  return [...took].sort((one, other) => one - other)[Math.floor(took.length * 0.99)] ?? 0;
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
