import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, memoryInbox } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import request from "supertest";
import { createApp, createReports } from "./app.ts";

test("a genuine notification is handled, a forged one is rejected", async (t) => {
  const emulator = createEmulator();
  const receiver = createReports(createClient(emulator.clientOptions), memoryInbox());
  t.after(() => receiver.close());
  const app = createApp(receiver);

  const genuine = emulator.notification("report.complete", { reportId: "r-1" });
  const forged = emulator.notification("report.complete", { signature: "invalid" });
  for (const { headers, body } of [genuine, forged]) {
    await request(app).post("/webhooks/reports").set(headers).send(body).expect(200);
  }
  await receiver.idle();

  const [handled] = await receiver.inbox.list({ state: "handled" });
  assert.equal(handled?.reportId, "r-1");
  const { rejected } = await receiver.inbox.counts();
  assert.equal(rejected, 1);
});

test("the health route says whether notifications are accepted", async (t) => {
  const emulator = createEmulator();
  const receiver = createReports(createClient(emulator.clientOptions), memoryInbox());
  t.after(() => receiver.close());
  await receiver.start();
  await request(createApp(receiver)).get("/health").expect(200, { ready: true });
});
