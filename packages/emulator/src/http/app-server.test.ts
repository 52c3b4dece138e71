import { createServer } from "node:http";
import { freePort } from "@reporthook/test-support/free-port";
import { gate } from "@reporthook/test-support/gate";
import { afterEach, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../emulator.ts";
import type { AppUnderTest } from "./app-server.ts";

const address = "https://app.example:8443/webhooks/reports?tenant=a";
const made: Emulator[] = [];

afterEach(async () => {
  for (const emulator of made.splice(0)) await emulator.close();
});

function make(...options: Parameters<typeof createEmulator>): Emulator {
  const emulator = createEmulator(...options);
  made.push(emulator);
  return emulator;
}

async function ask(emulator: Emulator, webhookUrl = address): Promise<void> {
  const body = JSON.stringify({ webhook_url: webhookUrl });
  const init = { method: "POST", body };
  await emulator.fetch("http://emulator.invalid/batch/v4/request-report", init);
}

test("deliverTo() brings a listener the path, query and Host of webhook_url, over the option deliver", async () => {
  const emulator = make({ deliver: () => expect.fail("deliver is called") });
  const seen: unknown[] = [];
  emulator.deliverTo((request, response) => {
    const { method, url, headers } = request;
    seen.push(method, url, headers.host, headers["x-forwarded-proto"], headers["content-type"]);
    request.on("data", (chunk) => seen.push(JSON.parse(String(chunk)).payload.status));
    request.on("end", () => response.writeHead(202).end("thanks"));
  });
  await ask(emulator);
  await emulator.settled();
  const path = "/webhooks/reports?tenant=a";
  const type = "application/json";
  expect(seen).toEqual(["POST", path, "app.example:8443", "https", type, "processing"]);
  expect(emulator.deliveries).toMatchObject([{ url: address, status: 202, body: "thanks" }]);
});

test("deliverTo() has the app reached from this machine alone", async () => {
  const emulator = make();
  let port: number | undefined;
  emulator.deliverTo((request, response) => {
    port = request.socket.localPort;
    response.end();
  });
  await ask(emulator);
  await emulator.settled();
  await expect(fetch(`http://127.0.0.2:${port}/`)).rejects.toThrow("fetch failed");
});

test("deliverTo() brings an app with fetch a Request with webhook_url, and reads its answer", async () => {
  const emulator = make();
  const seen: unknown[] = [];
  emulator.deliverTo({
    async fetch(request) {
      seen.push(request.url, request.headers.get("host"), JSON.parse(await request.text()));
      return new Response(null, { status: 204 });
    },
  });
  await ask(emulator);
  await emulator.settled();
  expect(seen).toMatchObject([address, "app.example:8443", { payload: { status: "processing" } }]);
  expect(emulator.deliveries).toMatchObject([{ status: 204, body: "", failed: false }]);
});

test("deliverTo() delivers to the app of its last call", async () => {
  const emulator = make();
  for (const name of ["first", "last"]) {
    emulator.deliverTo((_, response) => response.end(name));
  }
  await ask(emulator);
  await emulator.settled();
  emulator.deliverTo((_, response) => response.end("later"));
  await ask(emulator);
  await emulator.settled();
  expect(emulator.deliveries.map(({ body }) => body)).toEqual(["last", "later"]);
});

const fetchOf = { fetch: (_: Request) => new Response() };

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["null", null],
  ["an address", "http://127.0.0.1:3000"],
  ["a server", createServer()],
  ["an app's fetch", fetchOf.fetch],
  ["a bound fetch", fetchOf.fetch.bind(fetchOf)],
  ["a receiver's fetch", async function fetch(_: Request, _first: unknown, _second: unknown) {}],
])("deliverTo() throws a TypeError when given %s", (_, app) => {
  const emulator = make();
  const give = () => emulator.deliverTo(app as AppUnderTest);
  expect(give).toThrow(TypeError);
  expect(give).toThrow("give the app, not its fetch");
  emulator.deliverTo((_request, response) => response.end());
  expect(give).toThrow(TypeError);
});

test.each<[string, AppUnderTest]>([
  [
    "throws",
    () => {
      throw new Error("no table");
    },
  ],
  ["rejects", async () => Promise.reject(new Error("no table"))],
  ["returns a Response", () => new Response()],
  ["has a fetch that rejects", { fetch: () => Promise.reject(new Error("no table")) }],
  ["answers with a page", (_, to) => to.writeHead(500).end("<html><pre>no<br>table</pre></html>")],
])("settled() names once what went wrong when the app %s", async (_, app) => {
  const emulator = make();
  emulator.deliverTo(app);
  await ask(emulator);
  await expect(emulator.settled()).rejects.toThrow(
    /report\.processing to https:\/\/app\.example:8443\/webhooks\/reports\?tenant=a: the app answered 500: .*(no table|give the app)/,
  );
  expect(emulator.deliveries).toMatchObject([{ status: 500, failed: true }]);
  await emulator.settled();
});

test("settled() resolves when the app refuses, breaks the connection or is too slow", async () => {
  const emulator = make();
  emulator.deliverTo((_, response) => response.writeHead(503).end());
  await ask(emulator);
  await emulator.settled();
  emulator.deliverTo((request) => request.socket.destroy());
  await ask(emulator);
  await emulator.settled();
  const reached = gate();
  emulator.deliverTo((_request, _response) => reached.open());
  await ask(emulator);
  await reached.opened;
  emulator.clock.advance(5_000);
  await emulator.settled();
  expect(emulator.deliveries.map(({ status }) => status)).toEqual([503, null, null]);
});

test("settled() names each address that nobody listens at, once, without the callback token", async () => {
  const emulator = make();
  const origin = `http://127.0.0.1:${await freePort()}`;
  for (const path of ["/a?callback_token=v1.x-y_z&b=1", "/b"]) await ask(emulator, origin + path);
  const error = await emulator.settled().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(`${origin}/a?callback_token=[removed]&b=1: connect ECONNREFUSED`);
  expect(String(error)).toContain(`${origin}/b: connect ECONNREFUSED`);
  expect(String(error)).not.toContain("x-y_z");
  await emulator.settled();
});

test("settled() names the address when deliver rejects, and nothing that a fault asked for", async () => {
  const emulator = make({ deliver: () => Promise.reject(new TypeError("fetch failed")) });
  for (const fault of [{ drop: true }, { status: 500 }]) {
    emulator.fault("delivery", { ...fault, times: 1 });
    await ask(emulator);
    await emulator.settled();
  }
  await ask(emulator);
  await expect(emulator.settled()).rejects.toThrow(address);
});

test("reset() and close() end the connections of the app, and settled() says nothing of them", async () => {
  const emulator = make();
  let closed = () => {};
  const connected = async () => {
    const ended = new Promise<void>((resolve) => {
      closed = resolve;
    });
    await new Promise<void>((reached) => {
      emulator.deliverTo((_, response) => {
        response.once("close", closed);
        reached();
      });
      void ask(emulator);
    });
    return { ended };
  };
  const { ended } = await connected();
  emulator.reset();
  await ended;
  await emulator.settled();
  const later = await connected();
  await emulator.close();
  await later.ended;
  await emulator.settled();
});
