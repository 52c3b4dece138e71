import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { bullmqInbox } from "@reporthook/bullmq";
import { createClient, createReceiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";

/** How a process of the cluster is started: as JSON in the environment variable CLUSTER_APP. */
export interface AppOptions {
  /** A web process receives only, a worker has no server. */
  readonly role: "web" | "worker";
  readonly port: number;
  readonly inboxUrl: string;
  readonly serviceUrl: string;
  /** Where handlers write down what they did. */
  readonly diary: string;
  readonly leaseMs: number;
}

const options = JSON.parse(process.env["CLUSTER_APP"] ?? "{}") as AppOptions;
const { role, port, inboxUrl, serviceUrl, diary, leaseMs } = options;

const receiver = createReceiver({
  client: createClient({ baseUrl: serviceUrl, apiKey: "test-api-key" }),
  inbox: bullmqInbox({ connection: inboxUrl, leaseMs, logger: false }),
  autostart: false,
  // Written once it is recorded: nobody may begin with it again.
  observe: { handled: ({ id }) => appendFileSync(diary, `done ${id}\n`) },
  logger: false,
});

receiver.on("report.complete", async (event) => {
  appendFileSync(diary, `begin ${event.id} ${event.reportId}\n`);
  await sleep(Math.random() * 20);
});

if (role === "web") {
  createServer(nodeHandler(receiver)).listen(port, "127.0.0.1", () => process.send?.("ready"));
} else {
  // The supervisor of the process starts it again.
  await receiver.start().catch(() => process.exit(1));
  process.send?.("ready");
}

process.once("SIGTERM", async () => {
  await receiver.close({ timeoutMs: 2_000 });
  process.exit();
});
process.once("disconnect", () => process.exit());
