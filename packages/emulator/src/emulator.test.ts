import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { createEmulator, type Emulator, type EmulatorOptions } from "./emulator.ts";
import type { Deliver } from "./notifications/delivery.ts";

const AUTHORIZE = "http://emulator.invalid/v1/webhooks/authorize?api_key=test-api-key";
const never: Deliver = () => new Promise(() => {});

function ask(emulator: Emulator, init: RequestInit = {}): Promise<Response> {
  const { headers } = emulator.notification("report");
  return emulator.fetch(AUTHORIZE, { method: "POST", headers, ...init });
}

async function requestReport(emulator: Emulator): Promise<string> {
  const response = await emulator.fetch("http://emulator.invalid/batch/v4/request-report", {
    method: "POST",
    body: JSON.stringify({ webhook_url: "https://app.example/" }),
  });
  return ((await response.json()) as { report_id: string }).report_id;
}

test("createEmulator() uses no timer, network or randomness", () => {
  const calls = [
    vi.spyOn(globalThis, "setTimeout"),
    vi.spyOn(globalThis, "fetch"),
    vi.spyOn(globalThis.crypto, "getRandomValues"),
  ];
  createEmulator();
  for (const call of calls) expect(call).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test.each([
  ["apiKey", { apiKey: "" }],
  ["apiKey", { apiKey: "a b" }],
  ["apiKey", { apiKey: "[key]" }],
  ["apiKey", { apiKey: "{key}" }],
  ["apiKey", { apiKey: "<key>" }],
  ["apiKey", { apiKey: 7 }],
  ["deliver", { deliver: "http://app.example" }],
  ["port; its options are apiKey, deliver", { port: 3000 }],
])("createEmulator() throws a TypeError that names %s when given %j", (name, options) => {
  const create = () => createEmulator(options as EmulatorOptions);
  expect(create).toThrow(TypeError);
  expect(create).toThrow(name);
});

test.each([null, 7, "secret-7", [], () => {}])(
  "createEmulator(), notification() and fault() name what takes options when given %j for them, and quote nothing",
  (given) => {
    const options = given as object;
    const { notification, fault } = createEmulator();
    for (const [name, call] of [
      ["createEmulator", () => createEmulator(options)],
      ["notification()", () => notification("report", options)],
      ["fault()", () => fault("test", options)],
    ] as const) {
      expect(call).toThrow(TypeError);
      expect(call).toThrow(`${name} takes an object of options, not `);
      expect(call).not.toThrow("secret-7");
    }
  },
);

test("clientOptions are the options that a client in process needs", async () => {
  const emulator = createEmulator({ apiKey: "secret-7" });
  const { baseUrl, apiKey, fetch } = emulator.clientOptions;
  const { headers } = emulator.notification("report");
  const url = `${baseUrl}/v1/webhooks/authorize?api_key=${apiKey}`;
  expect((await fetch(url, { method: "POST", headers })).status).toBe(200);
});

test("createEmulator() makes an object that does not show the key", () => {
  const emulator = createEmulator({ apiKey: "secret-7" });
  expect(inspect(emulator, { depth: 9 })).not.toContain("secret-7");
  expect(JSON.stringify(emulator)).not.toContain("secret-7");
});

test("fetch() takes a Request, a URL or a string, like the global one", async () => {
  const { fetch, notification } = createEmulator();
  const init = { method: "POST", headers: notification("report").headers };
  expect((await fetch(new Request(AUTHORIZE, init))).status).toBe(200);
  expect((await fetch(new Request(AUTHORIZE), init)).status).toBe(200);
  expect((await fetch(new URL(AUTHORIZE), init)).status).toBe(200);
  expect((await fetch(AUTHORIZE, init)).status).toBe(200);
  await expect(fetch("/relative", init)).rejects.toThrow(TypeError);
});

test("fetch() rejects with the signal's reason when aborted before or meanwhile", async () => {
  const emulator = createEmulator();
  const reason = new Error("enough");
  const before = ask(emulator, { signal: AbortSignal.abort(reason) });
  await expect(before).rejects.toBe(reason);

  emulator.fault("authorize", { delayMs: 3_600_000 });
  const caller = new AbortController();
  const meanwhile = ask(emulator, { signal: caller.signal });
  caller.abort(reason);
  await expect(meanwhile).rejects.toBe(reason);
});

test("fetch() creates no report when the caller hangs up while sending it", async () => {
  const emulator = createEmulator({ deliver: never });
  const caller = new AbortController();
  const answer = emulator.fetch("http://emulator.invalid/batch/v4/request-report", {
    method: "POST",
    body: "{}",
    signal: caller.signal,
  });
  caller.abort();
  await expect(answer).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  expect(emulator.reports.list()).toEqual([]);
});

test("fault() lets an operation answer with a status, so many times", async () => {
  const emulator = createEmulator({ deliver: never });
  emulator.fault("authorize", { status: 503, times: 2 });
  const statuses = [await ask(emulator), await ask(emulator), await ask(emulator)];
  expect(statuses.map(({ status }) => status)).toEqual([503, 503, 200]);

  emulator.fault("request-report", { status: 500 });
  emulator.fault("test", { status: 429 });
  const init = { method: "POST", body: '{"webhook_url":"https://app.example/"}' };
  const requested = await emulator.fetch("http://x.invalid/batch/v4/request-report", init);
  const tested = await emulator.fetch("http://x.invalid/v3/batch/webhooks/test", init);
  expect([requested.status, tested.status]).toEqual([500, 429]);
  expect(emulator.reports.list()).toEqual([]);
});

test("fault() drops a request as a failed fetch does", async () => {
  const emulator = createEmulator();
  const end = emulator.fault("authorize", { drop: true });
  await expect(ask(emulator)).rejects.toThrow(new TypeError("fetch failed"));
  end();
  expect((await ask(emulator)).status).toBe(200);
});

test("fault() delays by the emulator's clock, and the signature grows old meanwhile", async () => {
  const emulator = createEmulator();
  emulator.fault("authorize", { delayMs: 300_001, times: 1 });
  let answered = false;
  const answer = ask(emulator).finally(() => {
    answered = true;
  });
  emulator.clock.advance(200_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(answered).toBe(false);
  emulator.clock.advance(100_001);
  expect((await answer).status).toBe(424);
});

test("reset() goes back to the start", async () => {
  const emulator = createEmulator({ deliver: async () => new Response() });
  const { deliveries } = emulator;
  await requestReport(emulator);
  await emulator.settled();
  emulator.fault("authorize", { status: 503 });
  emulator.clock.advance(3_600_000);
  emulator.reset();
  expect(emulator.reports.list()).toEqual([]);
  expect(deliveries).toEqual([]);
  expect(emulator.clock.now()).toBeLessThan(Date.now() + 1_800_000);
  expect((await ask(emulator)).status).toBe(200);
});

test("reset() drops notifications under way", async () => {
  const emulator = createEmulator({ deliver: never });
  const id = await requestReport(emulator);
  const delivery = emulator.reports.setStatus(id, "complete");
  emulator.fault("authorize", { delayMs: 3_600_000 });
  const answer = ask(emulator);
  emulator.reset();
  await expect(answer).rejects.toThrow("fetch failed");
  expect(await delivery).toMatchObject({ failed: true, error: "The emulator was reset." });
  expect(emulator.deliveries).toEqual([]);
});

test("close() drops notifications under way and answers no more", async () => {
  const emulator = createEmulator({ deliver: never });
  const id = await requestReport(emulator);
  emulator.fault("authorize", { delayMs: 3_600_000 });
  const answer = ask(emulator);
  const closed = emulator.close();
  await expect(answer).rejects.toThrow("fetch failed");
  await closed;
  await emulator.close();
  expect(emulator.deliveries).toMatchObject([
    { name: "report.processing", failed: true, error: "The emulator was closed." },
  ]);
  await expect(ask(emulator)).rejects.toThrow("fetch failed");
  expect(await emulator.reports.setStatus(id, "complete")).toBeNull();
});

test("close() stops a server that answers or has not come up", async () => {
  const emulator = createEmulator();
  const { url } = await emulator.listen();
  emulator.fault("authorize", { delayMs: 3_600_000 });
  const answer = fetch(`${url}/v1/webhooks/authorize`, { method: "POST" });
  const failed = expect(answer).rejects.toThrow("fetch failed");
  await emulator.close();
  await failed;

  const early = createEmulator();
  const starting = early.listen();
  await early.close();
  await expect(fetch((await starting).url)).rejects.toThrow("fetch failed");

  const broken = createEmulator();
  const refused = expect(broken.listen(-1)).rejects.toThrow(TypeError);
  await broken.close();
  await refused;
});

const run = (script: string): Promise<{ stdout: string }> =>
  promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { cwd: fileURLToPath(new URL(".", import.meta.url)) },
  );

const SETUP = `
  import { createEmulator } from "./emulator.ts";
  const emulator = createEmulator({ deliver: () => new Promise(() => {}) });
  const post = (path, body) =>
    emulator.fetch("http://emulator.invalid" + path, {
      method: "POST",
      headers: { "api-key": "test-api-key" },
      body: JSON.stringify(body),
    });
  const webhook_url = "https://app.example/";
`;

test("a pending delivery alone keeps no process alive", async () => {
  const { stdout } = await run(`${SETUP}
    process.once("exit", () => console.log(emulator.deliveries.length));
    await post("/batch/v4/request-report", { webhook_url });
  `);
  expect(stdout.trim()).toBe("0");
});

test("settled() keeps the process alive when a delivery is pending", async () => {
  const { stdout } = await run(`${SETUP}
    emulator.fault("delivery", { delayMs: 50, status: 503 });
    await post("/batch/v4/request-report", { webhook_url });
    await emulator.settled();
    console.log(emulator.deliveries[0].status);
  `);
  expect(stdout.trim()).toBe("503");
});

test("a delivery that is awaited keeps the process alive", async () => {
  const { stdout } = await run(`${SETUP}
    await post("/batch/v4/request-report", { webhook_url });
    emulator.fault("delivery", { delayMs: 50, status: 503 });
    const [{ id }] = emulator.reports.list();
    console.log((await emulator.reports.setStatus(id, "complete")).status);
  `);
  expect(stdout.trim()).toBe("503");
});

test("an answer that is awaited keeps the process alive", async () => {
  const { stdout } = await run(`${SETUP}
    emulator.fault("authorize", { delayMs: 50 });
    console.log((await post("/v1/webhooks/authorize", {})).status);
  `);
  expect(stdout.trim()).toBe("401");
});

test("close() leaves nothing that keeps the process alive", async () => {
  const { stdout } = await run(`${SETUP}
    await emulator.listen();
    emulator.fault("authorize", { delayMs: 3_600_000 });
    emulator.clock.setTimeout(() => {}, 3_600_000).unref();
    await post("/batch/v4/request-report", { webhook_url });
    post("/v1/webhooks/authorize", {}).catch((error) => console.log(error.message));
    await emulator.close();
  `);
  expect(stdout.trim()).toBe("fetch failed");
});

test("an app of deliverTo() keeps no process alive when close() is forgotten", async () => {
  const { stdout } = await run(`${SETUP}
    emulator.deliverTo((request, response) => response.end("answered"));
    await post("/batch/v4/request-report", { webhook_url });
    process.once("exit", () => console.log(emulator.deliveries[0].body));
  `);
  expect(stdout.trim()).toBe("answered");
});
