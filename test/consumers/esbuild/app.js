import assert from "node:assert/strict";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { reporthook } from "@reporthook/hono";
import { sqliteInbox } from "@reporthook/sqlite";
import { Hono } from "hono";

const emulator = createEmulator();
const receiver = createReceiver({
  client: createClient(emulator.clientOptions),
  inbox: sqliteInbox(`inbox-${process.pid}.db`),
});
const ready = [];
receiver.on("report.complete", (event) => void ready.push(event.reportId));
const app = new Hono();
app.post("/webhooks/reports", reporthook(receiver));

async function main() {
  const sent = emulator.notification("report.complete", { reportId: "r-1" });
  assert.equal((await app.request("/webhooks/reports", sent)).status, 200);
  await receiver.idle();
  assert.deepEqual(ready, ["r-1"]);
  await receiver.close();
}
void main();
