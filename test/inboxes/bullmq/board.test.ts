import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { bullmqInbox, queueNames } from "@reporthook/bullmq";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { noRedis, startRedis } from "@reporthook/test-support/servers";
import { Queue } from "bullmq";
import { expect } from "vitest";

type Board = Parameters<typeof createBullBoard>[0]["serverAdapter"];
type Queues = Parameters<Board["setQueues"]>[0];

testWith(noRedis)("bull-board is given the same queues, and shows their jobs", async () => {
  const server = await startRedis();
  const emulator = createEmulator();
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    inbox: bullmqInbox({ connection: server.url, logger: false }),
    logger: false,
    ...patient,
  });
  receiver.on("report.complete", () => {});
  await receiver.start();
  const send = (signature: "valid" | "invalid" | "none") =>
    receiver.fetch(
      new Request("https://app/hook", emulator.notification("report.complete", { signature })),
    );
  for (const signature of ["valid", "invalid", "none"] as const) {
    expect((await send(signature)).status).toBe(200);
  }
  await receiver.idle({ timeoutMs: 60_000 });

  const connection = { url: server.url };
  const queues = queueNames("reports").map((name) => new Queue(name, { connection }));
  const board = boardWithoutAServer();
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: board,
  });
  const shown: Record<string, unknown> = {};
  for (const [name, adapter] of board.queues) {
    const { completed, failed, prioritized } = await adapter.getJobCounts();
    shown[name] = { completed, failed, prioritized };
  }
  expect(shown).toEqual({
    "reporthook-reports-verify": { completed: 1, failed: 1, prioritized: 0 },
    "reporthook-reports-handle": { completed: 0, failed: 0, prioritized: 0 },
    "reporthook-reports-held": { completed: 0, failed: 0, prioritized: 1 },
    "reporthook-reports-dead": { completed: 0, failed: 0, prioritized: 0 },
    "reporthook-reports-unsigned": { completed: 0, failed: 0, prioritized: 0 },
  });
  const verify = board.queues.get("reporthook-reports-verify");
  const [job] = (await verify?.getJobs(["completed"])) ?? [];
  expect(job?.toJSON().returnvalue).toMatchObject({ type: "report.complete" });

  await receiver.close();
  for (const queue of queues) await queue.close();
  await server.stop();
});

/** A server adapter that keeps what bull-board hands to a framework. */
function boardWithoutAServer(): Board & { queues: Queues } {
  const board = { queues: new Map() as Queues };
  return new Proxy(board as Board & { queues: Queues }, {
    get(target, name, self) {
      if (name === "queues") return target.queues;
      return (given: unknown) => {
        if (name === "setQueues") target.queues = given as Queues;
        return self;
      };
    },
  });
}
