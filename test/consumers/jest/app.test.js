const { mkdtempSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { createClient, createReceiver, memoryInbox } = require("@reporthook/core");
const { inboxContract } = require("@reporthook/testing");
const { createEmulator } = require("@reporthook/emulator");
const { reporthook } = require("@reporthook/express");
const { sqliteInbox } = require("@reporthook/sqlite");
const express = require("express");
const request = require("supertest");

jest.setTimeout(60_000);

test("an Express app stores a notification of the emulated service in SQLite, and handles it", async () => {
  const emulator = createEmulator();
  const { url: baseUrl } = await emulator.listen();
  const { apiKey } = emulator.clientOptions;
  const inbox = sqliteInbox(join(mkdtempSync(join(tmpdir(), "jest-")), "inbox.db"));
  const receiver = createReceiver({ client: createClient({ baseUrl, apiKey }), inbox });
  const ready = [];
  receiver.on("report.complete", (event) => void ready.push(event.reportId));
  const app = express();
  app.post("/webhooks/reports", reporthook(receiver));

  const sent = emulator.notification("report.complete", { reportId: "r-1" });
  await request(app).post("/webhooks/reports").set(sent.headers).send(sent.body).expect(200);
  await receiver.idle();
  expect(ready).toEqual(["r-1"]);
  await receiver.close();
  await emulator.close();
});

describe("the suite for inboxes runs in Jest", () => {
  const { guarantees } = memoryInbox();
  const cases = inboxContract({ open: () => memoryInbox(), guarantees });
  for (const { name, run } of cases) test(name, run);
});
