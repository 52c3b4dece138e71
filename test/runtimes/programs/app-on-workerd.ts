// A Worker with its receivers at module scope, as apps have them.
import { env } from "cloudflare:workers";
import { createClient, createReceiver, memoryInbox, type Receiver } from "@reporthook/core";
import { reporthook } from "@reporthook/hono";
import { Hono } from "hono";

const client = createClient({ baseUrl: env.REPORTS_URL, apiKey: env.REPORTS_API_KEY });
// So that a machine with much else to do is no reason for another answer.
const limits = { ackMs: 20_000, verifyMs: 15_000 };
const options = { client, logger: false, limits } as const;
const inbox = memoryInbox({ acceptLoss: true });
const receivers: readonly Receiver[] = [
  createReceiver({ ...options, name: "handled", ack: "handled" }),
  createReceiver({ ...options, name: "stored", inbox }),
  createReceiver({ ...options, name: "before-ack", inbox, verify: "before-ack" }),
];
const handled: Record<string, number> = {};
let refused = "";
try {
  createReceiver({ ...options, name: "lost" });
} catch (error) {
  refused = String(error);
}

const app: Hono = new Hono();
for (const receiver of receivers) {
  const { name } = receiver;
  handled[name] = 0;
  receiver.on("report", async () => {
    // Handlers call others, too.
    await (await fetch(env.REPORTS_URL)).text();
    handled[name] = (handled[name] ?? 0) + 1;
  });
  app.post(`/${name}`, reporthook(receiver));
}
app.get("/handled", (c) => c.json(handled));
app.get("/refused", (c) => c.text(refused));

export default app;
