import { expect, test } from "vitest";
import { createEmulator } from "../emulator.ts";

async function requested(webhookUrl?: string) {
  const emulator = createEmulator({ deliver: async () => new Response("thanks") });
  await emulator.fetch("http://emulator.invalid/batch/v4/request-report", {
    method: "POST",
    body: JSON.stringify({ webhook_url: webhookUrl }),
  });
  await emulator.settled();
  return { emulator, reports: emulator.reports, id: emulator.reports.list()[0]?.id ?? "" };
}

test("setStatus() notifies of every change and resolves to the delivery", async () => {
  const { emulator, reports, id } = await requested("https://app.example/");
  const delivery = await reports.setStatus(id, "complete");
  expect(delivery).toMatchObject({ name: "report.complete", reportId: id, body: "thanks" });
  expect(reports.get(id)?.status).toBe("complete");
  await reports.setStatus(id, "processing");
  await reports.setStatus(id, "internal_error");
  expect(emulator.deliveries.map(({ name }) => name)).toEqual([
    "report.processing",
    "report.complete",
    "report.processing",
    "report.internal_error",
  ]);
});

test("setStatus() resolves to null and sends nothing when nothing changes", async () => {
  const { emulator, reports, id } = await requested("https://app.example/");
  expect(await reports.setStatus(id, "processing")).toBeNull();
  expect(emulator.deliveries).toHaveLength(1);
});

test("setStatus() resolves to null when the report has no webhook_url", async () => {
  const { emulator, reports, id } = await requested();
  expect(await reports.setStatus(id, "complete")).toBeNull();
  expect(reports.get(id)?.status).toBe("complete");
  expect(emulator.deliveries).toEqual([]);
});

test("setStatus() throws when there is no such report or status", async () => {
  const { reports, id } = await requested();
  expect(() => reports.setStatus("r-0", "complete")).toThrow(/^id must be/);
  expect(() => reports.setStatus(id, "lost" as "complete")).toThrow(/^status must be/);
});

test("get() is null when there is no such report", async () => {
  const { reports } = await requested();
  expect(reports.get("r-0")).toBeNull();
});

test("list() and get() give reports that later changes leave as they are", async () => {
  const { reports, id } = await requested();
  const before = reports.get(id);
  await reports.setStatus(id, "complete");
  expect(before?.status).toBe("processing");
  expect(reports.list()).toEqual([reports.get(id)]);
});
