import { gate } from "@reporthook/test-support/gate";
import { expect, test } from "vitest";
import { createEmulator, type Emulator } from "../emulator.ts";
import type { Deliver } from "../notifications/delivery.ts";

const RECEIVER = "https://app.example/webhooks/reports";
const never: Deliver = () => new Promise(() => {});

function ask(emulator: Emulator, body: unknown = { webhook_url: RECEIVER }, key = "test-api-key") {
  return emulator.fetch("http://emulator.invalid/v3/batch/webhooks/test", {
    method: "POST",
    headers: { "api-key": key },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

test("testWebhook() answers 200 with the notification that the receiver got", async () => {
  const got: Request[] = [];
  const emulator = createEmulator({
    deliver: async (request) => {
      got.push(request);
      return new Response(null, { status: 204 });
    },
  });
  const response = await ask(emulator);
  expect(response.status).toBe(200);
  const answer = await response.json();
  expect(answer).toEqual({ event_type: "test_webhook_endpoint", payload: expect.any(String) });

  expect(got).toHaveLength(1);
  expect(got[0]).toMatchObject({ method: "POST", url: RECEIVER });
  expect(got[0]?.headers.get("x-svc-authorization")).toMatch(/^v1\./);
  expect(got[0]?.headers.get("content-type")).toBe("application/json");
  expect(got[0]?.headers.get("user-agent")).toBe("reporthook-emulator");
  expect(await got[0]?.json()).toEqual(answer);
  expect(emulator.deliveries).toMatchObject([
    { name: "test_webhook_endpoint", reportId: null, url: RECEIVER, status: 204, failed: false },
  ]);
});

test.each([302, 404, 503])(
  "testWebhook() answers 400 when the receiver answers %i",
  async (status) => {
    const emulator = createEmulator({ deliver: async () => new Response("no", { status }) });
    const response = await ask(emulator);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      errors: [`The receiver answered ${status}, not 2xx.`],
    });
  },
);

test("testWebhook() answers 400 when the receiver does not answer within 5 seconds", async () => {
  const delivering = gate();
  const emulator = createEmulator({
    deliver: (request) => {
      delivering.open();
      return never(request);
    },
  });
  const answer = ask(emulator);
  await delivering.opened;
  emulator.clock.advance(5_000);
  const response = await answer;
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    errors: ["The receiver did not answer within 5 seconds."],
  });
});

test.each([
  {},
  { webhook_url: null },
  { webhook_url: "/relative" },
  { webhook_url: "ftp://app.example/" },
  { webhook_url: "https://" },
  { webhook_url: [RECEIVER] },
  "not JSON",
  "[]",
  "null",
])("testWebhook() answers 400 and sends nothing when the body is %j", async (body) => {
  const emulator = createEmulator({ deliver: never });
  const response = await ask(emulator, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ errors: [expect.any(String)] });
  await emulator.settled();
  expect(emulator.deliveries).toEqual([]);
});

test("testWebhook() answers 400 when the body is not UTF-8", async () => {
  const emulator = createEmulator({ deliver: never });
  const response = await emulator.fetch("http://emulator.invalid/v3/batch/webhooks/test", {
    method: "POST",
    headers: { "api-key": "test-api-key" },
    body: new Uint8Array([0x22, 0xff, 0x22]),
  });
  expect(response.status).toBe(400);
});

test("testWebhook() answers 413 when the body has more than 1 MiB", async () => {
  const response = await ask(createEmulator({ deliver: never }), " ".repeat(1_048_577));
  expect(response.status).toBe(413);
});

test("testWebhook() answers 401 when the key is wrong or missing", async () => {
  const emulator = createEmulator({ deliver: never });
  expect((await ask(emulator, undefined, "wrong")).status).toBe(401);
  const response = await emulator.fetch(
    "http://emulator.invalid/v3/batch/webhooks/test?api_key=test-api-key",
    { method: "POST", body: JSON.stringify({ webhook_url: RECEIVER }) },
  );
  expect(response.status).toBe(401);
  expect(await response.text()).not.toContain("test-api-key");
});
