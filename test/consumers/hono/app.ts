import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createClient, createReceiver } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { reporthook } from "@reporthook/hono";
import { type Handler, Hono } from "hono";

const emulator = createEmulator();
const receiver = createReceiver({ client: createClient(emulator.clientOptions), logger: false });
const ready: (string | null)[] = [];
receiver.on("report.complete", (event) => {
  ready.push(event.reportId);
});

const handler: Handler = reporthook(receiver);
const app = new Hono<{ Variables: { user: string } }>();
app.post("/webhooks/reports", handler);
const server = serve({ fetch: app.fetch, port: 0 });
if (!server.listening) await once(server, "listening");

const { port } = server.address() as AddressInfo;
const sent = emulator.notification("report.complete", { reportId: "r-1" });
const answer = await fetch(`http://127.0.0.1:${port}/webhooks/reports`, sent);
assert.equal(answer.status, 200);
await receiver.idle();
assert.deepEqual(ready, ["r-1"]);
await shutdown(server, receiver);
