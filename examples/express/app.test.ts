import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClient, memoryInbox } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import request from "supertest";
import { createApp, createReports } from "./app.ts";

/** The app with an emulated service, which brings its notifications into it. */
function open(t: TestContext) {
  const emulator = createEmulator();
  const client = createClient(emulator.clientOptions);
  const receiver = createReports(client, memoryInbox(), "x".repeat(32), "https://app.example");
  t.after(() => receiver.close());
  const app = createApp(receiver);
  emulator.deliverTo(app);
  return { emulator, receiver, app };
}

test("a user gets the report that was asked for, once, and nobody else may look at it", async (t) => {
  const { emulator, receiver, app } = open(t);
  const ask = () =>
    request(app)
      .post("/reports")
      .set({ "x-user": "ada", "idempotency-key": "q3" })
      .send({ domains: ["example.com"] })
      .expect(202);
  const { id } = (await ask()).body;
  assert.equal((await ask()).body.id, id);
  const [report, second] = emulator.reports.list();
  assert.equal(second, undefined);

  await emulator.reports.setStatus(report?.id ?? "", "complete");
  await receiver.idle({ timeoutMs: 2_000 });
  const shown = { id, state: "complete", reportId: report?.id };
  await request(app).get(`/reports/${id}`).set({ "x-user": "ada" }).expect(200, shown);
  await request(app).get(`/reports/${id}`).set({ "x-user": "bob" }).expect(404);
});

test("a request with a wrong date is answered 400 and not sent", async (t) => {
  const { emulator, app } = open(t);
  await request(app).post("/reports").send({ start_date: "soon" }).expect(400);
  assert.deepEqual(emulator.reports.list(), []);
});

test("a forged notification is rejected", async (t) => {
  const { emulator, receiver, app } = open(t);
  await request(app).post("/reports").send({}).expect(202);
  const url = emulator.reports.list()[0]?.webhookUrl ?? "";
  const forged = emulator.notification("report.complete", { url, signature: "invalid" });
  await request(app).post(forged.path).set(forged.headers).send(forged.body).expect(200);
  await receiver.idle({ timeoutMs: 2_000 });
  const { rejected } = await receiver.inbox.counts();
  assert.equal(rejected, 1);
});

test("the health route says whether notifications are accepted", async (t) => {
  const { receiver, app } = open(t);
  await receiver.start();
  await request(app).get("/health").expect(200, { ready: true });
});
