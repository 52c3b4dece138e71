import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { ask } from "@reporthook/test-support/asking";
import { freePort } from "@reporthook/test-support/free-port";
import { testWith } from "@reporthook/test-support/needs";
import { afterEach, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../emulator.ts";

let emulator: Emulator | undefined;
afterEach(() => emulator?.close());

async function listening(): Promise<{ emulator: Emulator; url: string; authorize: string }> {
  emulator = createEmulator({ deliver: async () => new Response("ok") });
  const { url } = await emulator.listen();
  return { emulator, url, authorize: `${url}/v1/webhooks/authorize?api_key=test-api-key` };
}

/** Sends raw text over a socket and resolves to all that came back until it was closed. */
function raw(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = "";
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.end(text));
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      got += chunk;
    });
    socket.on("close", () => resolve(got)).on("error", reject);
  });
}

test("listen() serves the three operations over HTTP", async () => {
  const { emulator, url, authorize } = await listening();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);

  const { headers } = emulator.notification("report");
  const verified = await fetch(authorize, { method: "POST", headers });
  expect([verified.status, await verified.json()]).toEqual([200, { signature: "valid" }]);
  expect(verified.headers.get("content-type")).toBe("application/json");

  const body = JSON.stringify({ webhook_url: "https://app.example/" });
  const tested = await fetch(`${url}/v3/batch/webhooks/test`, {
    method: "POST",
    headers: { "api-key": "test-api-key" },
    body,
  });
  expect([tested.status, (await tested.json()) as object]).toMatchObject([
    200,
    { event_type: "test_webhook_endpoint" },
  ]);

  const requested = await fetch(`${url}/batch/v4/request-report`, { method: "POST", body });
  expect([requested.status, (await requested.json()) as object]).toMatchObject([
    200,
    { status: "processing" },
  ]);
});

const noOther = "no second address leads to this machine alone but on Linux";
testWith(process.platform === "linux" ? null : noOther)(
  "listen() is reached at 127.0.0.1 alone, unless it is told another address",
  async () => {
    const { emulator, url } = await listening();
    const elsewhere = (at: string) => fetch(at.replace("127.0.0.1", "127.0.0.2"));
    await expect(elsewhere(url)).rejects.toThrow("fetch failed");
    await emulator.close();
    const open = createEmulator();
    expect((await elsewhere((await open.listen(0, "0.0.0.0")).url)).status).toBe(404);
    await open.close();
  },
);

test.each(["x", -1, 65_536, 1.5])("listen() refuses the port %s", async (port) => {
  const listening = createEmulator().listen(port as number);
  await expect(listening).rejects.toThrow("port must be a whole number");
});

test.each(["", "[]", null, 7])(
  "listen() refuses the host %j, which is none or would be every address",
  async (host) => {
    const listening = createEmulator().listen(0, host as string);
    await expect(listening).rejects.toThrow("host must name an address");
  },
);

test("listen() answers 404 in JSON when the path is unknown, and never shows the key", async () => {
  const { url } = await listening();
  for (const path of ["/", "/v1/webhooks/authorize/test-api-key", "//x", "/?test-api-key"]) {
    const response = await fetch(`${url}${path}`, { method: "POST", body: "test-api-key" });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      errors: [expect.not.stringContaining("test-api-key")],
    });
  }
  expect(await raw(url, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toMatch(
    /^HTTP\/1\.1 404 /,
  );
});

test.each<Record<string, string>>([
  { origin: "https://evil.example" },
  { origin: "null" },
  { "sec-fetch-site": "cross-site" },
])("listen() takes nothing from a web page: %j", async (ofPage) => {
  const { emulator, url } = await listening();
  const body = JSON.stringify({ webhook_url: "http://10.0.0.1/admin" });
  // A page may send it to any address without asking.
  const headers = { ...ofPage, "content-type": "text/plain" };
  const to = `${url}/batch/v4/request-report`;
  expect((await ask(to, headers, "POST", body)).status).toBe(403);
  expect(emulator.reports.list()).toEqual([]);
  expect((await ask(to, { "sec-fetch-site": "none" }, "POST", body)).status).toBe(200);
});

test("listen() answers 405 with Allow when the method is another", async () => {
  const { authorize } = await listening();
  for (const method of ["GET", "DELETE", "HEAD"]) {
    const response = await fetch(authorize, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  }
});

test("listen() answers 413 when the body has more than 1 MiB, with or without a length", async () => {
  const { emulator, url } = await listening();
  const body = JSON.stringify({ filler: "x".repeat(1_048_576) });
  const stream = new Blob([body]).stream();
  for (const sent of [{ body }, { body: stream, duplex: "half" as const }]) {
    const response = await fetch(`${url}/batch/v4/request-report`, { method: "POST", ...sent });
    expect(response.status).toBe(413);
  }
  expect(emulator.reports.list()).toEqual([]);
});

test("listen() breaks the connection when a fault drops the request", async () => {
  const { emulator, authorize } = await listening();
  emulator.fault("authorize", { drop: true, times: 1 });
  await expect(fetch(authorize, { method: "POST" })).rejects.toThrow("fetch failed");
  expect((await fetch(authorize, { method: "POST" })).status).toBe(400);
});

test("listen() answers without a body when a fault sets a status that has none", async () => {
  const { emulator, authorize } = await listening();
  emulator.fault("authorize", { status: 204 });
  const response = await fetch(authorize, { method: "POST" });
  expect([response.status, await response.text()]).toEqual([204, ""]);
});

test("listen() survives a client that hangs up while a fault delays its answer", async () => {
  const { emulator, authorize } = await listening();
  const end = emulator.fault("authorize", { delayMs: 600_000 });
  const client = httpRequest(authorize, { method: "POST" });
  const failed = new Promise((resolve) => client.once("error", resolve));
  client.end();
  // The fault's timer is the sign that the request has arrived.
  const setTimer = emulator.clock.setTimeout;
  await new Promise<void>((resolve) => {
    emulator.clock.setTimeout = (callback, ms) => {
      resolve();
      return setTimer(callback, ms);
    };
  });
  client.destroy();
  await failed;
  end();
  expect((await fetch(authorize, { method: "POST" })).status).toBe(400);
  emulator.clock.advance(600_000);
  expect((await fetch(authorize, { method: "POST" })).status).toBe(400);
});

test("listen() survives a client that hangs up in the middle of its body", async () => {
  const { url, authorize } = await listening();
  await raw(
    url,
    "POST /batch/v4/request-report HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{",
  );
  expect((await fetch(authorize, { method: "POST" })).status).toBe(400);
});

test("listen() gives a URL that can be called when the host is a wildcard or IPv6", async () => {
  for (const [host, name] of [
    ["0.0.0.0", "127.0.0.1"],
    ["localhost", "localhost"],
    ["::1", "[::1]"],
    ["[::1]", "[::1]"],
  ] as const) {
    const emulator = createEmulator();
    const listening = await emulator.listen(0, host).catch((error) => error as { code: string });
    // A machine without IPv6, or without a file of host names.
    if ("code" in listening && /EADDRNOTAVAIL|ENOTFOUND/.test(listening.code)) continue;
    expect(listening).toEqual({ url: expect.stringContaining(`http://${name}:`) });
    await emulator.close();
  }
});

test("listen() rejects when the port is taken, and may be tried again", async () => {
  const other = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
  emulator = createEmulator();
  await expect(emulator.listen(port)).rejects.toMatchObject({ code: "EADDRINUSE" });
  await new Promise((resolve) => other.close(resolve));
  expect(await emulator.listen(port)).toEqual({ url: `http://127.0.0.1:${port}` });
});

test("listen() rejects when it listens already or the emulator is closed", async () => {
  const { emulator } = await listening();
  await expect(emulator.listen()).rejects.toThrow("already listening");
  await emulator.close();
  await expect(emulator.listen()).rejects.toThrow("closed");
});
