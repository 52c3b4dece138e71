// Releases all that is parked in a file while notifications come in, in a separate process.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, DoNotRetry, type Handler, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { answerParent } from "../child.ts";
import { bodyOf, eight, fillAtOnce, receiverName, seed, signatureOf } from "../deliveries.ts";

/** To park so many in a folder, and to release them. */
export interface Task {
  readonly folder: string;
  readonly count: number;
}

/** How long it took, how long the slowest answer took meanwhile, and how much memory was added at most. */
export interface Released {
  readonly seconds: number;
  readonly answerMs: number;
  readonly moreMB: number;
}

const answersEveryMs = 20;

function open(folder: string, count: number, handler: Handler<"*">): Receiver {
  return createReceiver({
    client: { authorize: async () => "valid" },
    inbox: sqliteInbox(join(folder, "inbox.db")),
    name: receiverName,
    // The released ones wait, too.
    autostart: false,
    logger: false,
    limits: { waiting: 2 * count },
  }).on("*", handler);
}

async function park(folder: string, count: number): Promise<void> {
  const inbox = sqliteInbox(join(folder, "inbox.db"));
  await inbox.open();
  await seed(inbox, count, fillAtOnce);
  await inbox.close();
  const receiver = open(folder, count, () => {
    throw new DoNotRetry("a bug");
  });
  await receiver.start();
  while ((await receiver.inbox.counts()).dead < count) await pause(100);
  await receiver.close();
}

/** Sends a notification every few milliseconds until `work` is done. */
async function answersDuring(receiver: Receiver, work: () => Promise<unknown>): Promise<Released> {
  const server = createServer(nodeHandler(receiver)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/reports`;
  const [before, from] = [process.memoryUsage.rss(), performance.now()];
  let [sent, answerMs, rss] = [0, 0, before];
  const send = async (): Promise<void> => {
    const number = eight(sent++);
    const at = performance.now();
    const headers = { "X-svc-authorization": signatureOf(`f${number}`) };
    const { status } = await fetch(url, { method: "POST", headers, body: bodyOf(number) });
    if (status !== 200) throw new Error(`a notification was answered with ${status}`);
    answerMs = Math.max(answerMs, performance.now() - at);
    rss = Math.max(rss, process.memoryUsage.rss());
  };
  const answers: Promise<void>[] = [];
  const timer = setInterval(() => answers.push(send()), answersEveryMs);
  await work();
  const seconds = (performance.now() - from) / 1_000;
  clearInterval(timer);
  await Promise.all(answers);
  server.close();
  return { seconds, answerMs, moreMB: (rss - before) / 2 ** 20 };
}

answerParent(async ({ folder, count }: Task): Promise<Released> => {
  await park(folder, count);
  const receiver = open(folder, count, () => {});
  // A first one opens the file and warms up.
  await answersDuring(receiver, () => pause(1_000));
  return answersDuring(receiver, async () => {
    const released = await receiver.inbox.release({ reason: "do_not_retry" });
    if (released !== count) throw new Error(`${released} of ${count} were released`);
  });
});
