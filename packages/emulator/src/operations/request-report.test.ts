import { expect, test } from "vitest";
import { createEmulator, type Emulator } from "../emulator.ts";

const REPORT = {
  webhook_url: "https://app.example/webhooks/reports",
  domains: ["example.com"],
  category_ids: [1, 2],
  metrics: ["category_sales_performance_revenue"],
  start_date: "2026-01",
  end_date: "2026-12",
  granularity: "monthly",
  response_format: "csv",
};

const emulatorOf = () => createEmulator({ deliver: async () => new Response("ok") });

function ask(emulator: Emulator, body: unknown, headers: Record<string, string> = {}, query = "") {
  return emulator.fetch(`http://emulator.invalid/batch/v4/request-report${query}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
}

test("requestReport() answers with the id of a report that is processing", async () => {
  const emulator = emulatorOf();
  const response = await ask(emulator, REPORT);
  expect(response.status).toBe(200);
  const { report_id, status } = (await response.json()) as Record<string, string>;
  expect(status).toBe("processing");
  expect(emulator.reports.list()).toEqual([
    {
      id: report_id,
      status: "processing",
      webhookUrl: REPORT.webhook_url,
      request: REPORT,
      requestedAt: expect.any(Date),
    },
  ]);
});

test("requestReport() notifies at once that the report is processing", async () => {
  const emulator = emulatorOf();
  await ask(emulator, REPORT);
  await emulator.settled();
  const [report] = emulator.reports.list();
  expect(emulator.deliveries).toMatchObject([
    { name: "report.processing", reportId: report?.id, url: REPORT.webhook_url, failed: false },
  ]);
  expect(JSON.parse(emulator.deliveries[0]?.notification.body ?? "")).toEqual({
    event_type: "report_status_changed",
    payload: { report_id: report?.id, status: "processing" },
  });
});

test("requestReport() requires no field, and notifies nobody without webhook_url", async () => {
  const emulator = emulatorOf();
  expect((await ask(emulator, {})).status).toBe(200);
  await emulator.settled();
  expect(emulator.deliveries).toEqual([]);
  expect(emulator.reports.list()).toMatchObject([{ webhookUrl: null, status: "processing" }]);
});

test("requestReport() answers 400 with every field that is wrong", async () => {
  const emulator = emulatorOf();
  const response = await ask(emulator, {
    webhook_url: "app.example",
    domains: "example.com",
    category_ids: [1.5],
    metrics: [1],
    start_date: "2026-13",
    end_date: 2026,
    granularity: 1,
    response_format: null,
  });
  expect(response.status).toBe(400);
  const { errors } = (await response.json()) as { errors: string[] };
  expect(errors.map((error) => error.split(" ")[0])).toEqual(Object.keys(REPORT));
  expect(emulator.reports.list()).toEqual([]);
});

test.each([
  ["no key", {}, "", 200],
  ["the key in the header", { "api-key": "test-api-key" }, "", 200],
  ["the key in the query", {}, "?api_key=test-api-key", 200],
  ["a wrong key in the header", { "api-key": "wrong" }, "", 401],
  ["a wrong key in the query", {}, "?api_key=wrong", 401],
  ["a wrong key beside a right one", { "api-key": "test-api-key" }, "?api_key=", 401],
])("requestReport() given %s answers", async (_, headers, query, status) => {
  expect((await ask(emulatorOf(), REPORT, headers, query)).status).toBe(status);
});
