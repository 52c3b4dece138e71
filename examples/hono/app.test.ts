import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClient, memoryInbox } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
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
  const headers = { "x-user": "ada", "idempotency-key": "q3" };
  const body = JSON.stringify({ domains: ["example.com"] });
  const asked = await app.request("/reports", { method: "POST", headers, body });
  assert.equal(asked.status, 202);
  const { id } = (await asked.json()) as { readonly id: string };
  const again = await app.request("/reports", { method: "POST", headers, body });
  assert.deepEqual(await again.json(), { id });
  const [report, second] = emulator.reports.list();
  assert.equal(second, undefined);

  await emulator.reports.setStatus(report?.id ?? "", "complete");
  await receiver.idle({ timeoutMs: 2_000 });
  const shown = await app.request(`/reports/${id}`, { headers });
  assert.deepEqual(await shown.json(), { id, state: "complete", reportId: report?.id });
  const hidden = await app.request(`/reports/${id}`, { headers: { "x-user": "bob" } });
  assert.equal(hidden.status, 404);
});

test("a request with a wrong date is answered 400 and not sent", async (t) => {
  const { emulator, app } = open(t);
  const wrong = { method: "POST", body: JSON.stringify({ start_date: "soon" }) };
  assert.equal((await app.request("/reports", wrong)).status, 400);
  assert.deepEqual(emulator.reports.list(), []);
});

test("a forged notification is rejected", async (t) => {
  const { emulator, receiver, app } = open(t);
  await app.request("/reports", { method: "POST", body: "{}" });
  const url = emulator.reports.list()[0]?.webhookUrl ?? "";
  const forged = emulator.notification("report.complete", { url, signature: "invalid" });
  assert.equal((await app.request(forged.path, forged)).status, 200);
  await receiver.idle({ timeoutMs: 2_000 });
  assert.equal((await receiver.inbox.counts()).rejected, 1);
});

test("the health route says whether notifications are accepted", async (t) => {
  const { receiver, app } = open(t);
  await receiver.start();
  const response = await app.request("/health");
  assert.deepEqual([response.status, await response.json()], [200, { ready: true }]);
});
