import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { reporthook } from "@reporthook/hono";
import { sqliteInbox } from "@reporthook/sqlite";
import { Hono } from "hono";

async function main() {
  const emulator = createEmulator();
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    inbox: sqliteInbox("inbox.db"),
  });
  const ready = [];
  receiver.on("report.complete", (event) => void ready.push(event.reportId));
  const sent = emulator.notification("report.complete", { reportId: "r-1" });
  const app = new Hono().post("/hook", reporthook(receiver));
  assert.equal((await app.request("/hook", sent)).status, 200);
  await receiver.idle();
  assert.deepEqual(ready, ["r-1"]);
  await receiver.close();
  rmSync("inbox.db");
  console.log(`received with Node ${process.version}`);
}
void main();
