import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createClient, createReceiver } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { reporthook } from "@reporthook/koa";
import Koa, { type Middleware } from "koa";
import mount from "koa-mount";

const emulator = createEmulator();
const receiver = createReceiver({ client: createClient(emulator.clientOptions), logger: false });
const ready: (string | null)[] = [];
receiver.on("report.complete", (event) => {
  ready.push(event.reportId);
});

const handler: Middleware = reporthook(receiver);
const app = new Koa<{ user: string }>();
app.use(mount("/webhooks/reports", handler));
const server = app.listen(0);
await once(server, "listening");

const { port } = server.address() as AddressInfo;
const sent = emulator.notification("report.complete", { reportId: "r-1" });
const answer = await fetch(`http://127.0.0.1:${port}/webhooks/reports`, sent);
assert.equal(answer.status, 200);
await receiver.idle();
assert.deepEqual(ready, ["r-1"]);
await shutdown(server, receiver);
