import { createServer, type Server, type ServerResponse } from "node:http";
import { inspect } from "node:util";
import { listenLocally } from "@reporthook/test-support/listening";
import { key, rejection } from "@reporthook/test-support/service-calls";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { InvalidReportRequestError } from "../errors.ts";
import { redactorOf } from "../lib/text/redact.ts";
import type { Fetch } from "./call-service.ts";
import { type ClientOptions, createClient } from "./client.ts";

interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

const encodedKey = "canary-Key%2F9%2Bz%26'%22%5C%3D%25";
const answerOk = (response: ServerResponse) => void response.end();

let server: Server;
let baseUrl: string;
let requests: Recorded[];
let connections = 0;
let answer: (response: ServerResponse, request: Recorded) => void;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const recorded = {
      method: request.method ?? "",
      url: request.url ?? "",
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks).toString(),
    };
    requests.push(recorded);
    answer(response, recorded);
  });
  server.on("connection", () => connections++);
  baseUrl = await listenLocally(server);
});

beforeEach(() => {
  requests = [];
  answer = answerOk;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const client = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, apiKey: key, ...options });

/** Names in lower case, as HTTP compares them. */
function headersOf(request: Recorded | undefined): Record<string, string> {
  const raw = request?.rawHeaders ?? [];
  return Object.fromEntries(
    raw.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1] ?? ""]] : [])),
  );
}

describe("verdicts", () => {
  it("authorize() sends a POST with key and signature, and nothing else, when called", async () => {
    await client().authorize("t=1,v1=\xe9abc==");
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request?.method).toBe("POST");
    expect(request?.url).toBe(`/v1/webhooks/authorize?api_key=${encodedKey.replace("'", "%27")}`);
    expect(request?.body).toBe("");
    const headers = headersOf(request);
    expect(headers["x-svc-authorization"]).toBe("t=1,v1=\xe9abc==");
    expect(headers).not.toHaveProperty("content-type");
    expect(headers).not.toHaveProperty("transfer-encoding");
    expect(headers).not.toHaveProperty("api-key");
    expect([undefined, "0"]).toContain(headers["content-length"]);
  });

  it("authorize() gives fetch the key percent-encoded and asks for no redirect when called", async () => {
    const calls: Parameters<Fetch>[] = [];
    const fetch: Fetch = async (...args) => {
      calls.push(args);
      return new Response("");
    };
    await client({ fetch, baseUrl: "https://a.example/" }).authorize("s");
    expect(calls[0]?.[0]).toBe(`https://a.example/v1/webhooks/authorize?api_key=${encodedKey}`);
    expect(calls[0]?.[1]).toEqual({
      method: "POST",
      headers: { "X-svc-authorization": "s" },
      redirect: "manual",
      signal: expect.any(AbortSignal),
    });
  });

  it.each([
    [200, "valid"],
    [406, "invalid"],
    [424, "expired"],
  ])("authorize() resolves when the answer is %i: %s", async (status, verdict) => {
    answer = (response) => void response.writeHead(status).end("whatever");
    await expect(client().authorize("s")).resolves.toBe(verdict);
  });

  it("authorize() keeps the path and drops the trailing slash when baseUrl has them", async () => {
    await client({ baseUrl: `${baseUrl}/reports/api//` }).authorize("s");
    expect(requests[0]?.url).toMatch(/^\/reports\/api\/v1\/webhooks\/authorize\?/);
  });

  it("authorize() uses at most 2 connections when called 20 times", async () => {
    answer = (response) => void response.writeHead(406).end("x".repeat(60_000));
    const before = connections;
    for (let i = 0; i < 20; i++) await client().authorize("s");
    expect(requests).toHaveLength(20);
    expect(connections - before).toBeLessThanOrEqual(2);
  });

  it("authorize() says that there is no global fetch where there is none", async () => {
    vi.stubGlobal("fetch", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const client = createClient({ baseUrl, apiKey: key });
    await expect(client.authorize("s")).rejects.toMatchObject({
      name: "ServiceError",
      code: "service_unreachable",
      retryable: false,
      message: expect.stringContaining(
        "there is no global fetch: give createClient the option fetch",
      ),
    });
  });

  it("authorize() looks the global fetch up when called, not when created", async () => {
    const before = createClient({ baseUrl, apiKey: key });
    const real = globalThis.fetch;
    try {
      globalThis.fetch = async () => new Response(null, { status: 424 });
      await expect(before.authorize("s")).resolves.toBe("expired");
    } finally {
      globalThis.fetch = real;
    }
    await expect(before.authorize("s")).resolves.toBe("valid");
  });

  it.each([
    "",
    " s3cret",
    "s3cret ",
    "s3cret\n",
    "s3\r\ncret",
    "s3\0cret",
    "s3cret\t",
    "s3\x7fcret",
    "s3čret",
    undefined as unknown as string,
  ])(
    "authorize() rejects with a TypeError and sends nothing when the signature is %j",
    async (signature) => {
      const error = await rejection(client().authorize(signature));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toMatch(
        /^The signature cannot be sent as a header: it must be Latin-1/,
      );
      expect(error.message).not.toMatch(/s3|ret/);
      expect(requests).toEqual([]);
    },
  );

  it("authorize() sends a tab within a signature as it is", async () => {
    await client().authorize("s3\tcret");
    expect(headersOf(requests[0])["x-svc-authorization"]).toBe("s3\tcret");
  });

  it("authorize() sends any key so that it decodes to the same when the key has odd characters", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !/\s|^[[{<]/.test(text)),
        async (apiKey) => {
          requests = [];
          await client({ apiKey }).authorize("s");
          const url = new URL(requests[0]?.url ?? "", baseUrl);
          expect(url.searchParams.getAll("api_key")).toEqual([apiKey]);
          expect([...url.searchParams.keys()]).toEqual(["api_key"]);
        },
      ),
    );
  });
});

describe("test webhooks", () => {
  it("testWebhook() sends the address as JSON with the key in a header when called", async () => {
    answer = (response) => void response.end('{"sent":true}');
    const given = "https://app.example/hooks?a=1";
    await expect(client().testWebhook(given)).resolves.toEqual({
      status: 200,
      body: { sent: true },
    });
    const [request] = requests;
    expect(request?.method).toBe("POST");
    expect(request?.url).toBe("/v3/batch/webhooks/test");
    expect(request?.body).toBe('{"webhook_url":"https://app.example/hooks?a=1"}');
    const headers = headersOf(request);
    expect(headers["api-key"]).toBe(key);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers).not.toHaveProperty("x-svc-authorization");
  });

  it.each(["", "/hooks", "app.example", "ftp://a.example", "https:app.example", "https://", 7])(
    "testWebhook() rejects and sends nothing when the address is %j",
    async (address) => {
      const error = await rejection(client().testWebhook(address as string));
      expect(error).toBeInstanceOf(InvalidReportRequestError);
      expect(error.problems).toEqual([
        { field: "webhook_url", message: expect.stringContaining("absolute http(s) URL") },
      ]);
      expect(requests).toEqual([]);
    },
  );

  it("testWebhook() rejects with a TypeError that hides the key when no header can carry it", async () => {
    const error = await rejection(
      client({ apiKey: "canáry-ключ" }).testWebhook("https://app.example/"),
    );
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/^apiKey /);
    expect(inspect(error, { showHidden: true })).not.toMatch(/can.ry|ключ/);
    expect(requests).toEqual([]);
  });
});

describe("reports", () => {
  it("requestReport() sends exactly the fields given when some are left out or undefined", async () => {
    const report = Object.freeze({
      webhook_url: "https://app.example/hooks",
      domains: Object.freeze(["example.com"]),
      category_ids: undefined,
      metrics: ["category_sales_performance_revenue", "new_metric"],
      start_date: "2025-12",
    });
    await client().requestReport(report);
    expect(requests[0]?.method).toBe("POST");
    expect(requests[0]?.url).toBe("/batch/v4/request-report");
    expect(requests[0]?.body).toBe(
      '{"webhook_url":"https://app.example/hooks","domains":["example.com"],' +
        '"metrics":["category_sales_performance_revenue","new_metric"],"start_date":"2025-12"}',
    );
    expect(headersOf(requests[0])["content-type"]).toBe("application/json");
  });

  it.each([
    ["header", "/batch/v4/request-report", key],
    ["query", `/batch/v4/request-report?api_key=${encodedKey.replace("'", "%27")}`, undefined],
    ["none", "/batch/v4/request-report", undefined],
  ] as const)(
    "requestReport() carries the key as told when reportAuth is %s",
    async (reportAuth, url, header) => {
      await client({ reportAuth }).requestReport({});
      expect(requests[0]?.url).toBe(url);
      expect(headersOf(requests[0])["api-key"]).toBe(header);
      expect(requests[0]?.body).toBe("{}");
    },
  );

  it.each([
    [200, '{"report_id":"r1","n":1.5,"list":[null]}', { report_id: "r1", n: 1.5, list: [null] }],
    [201, "queued", "queued"],
    [202, "", ""],
    [204, "", ""],
    [200, "12", 12],
    [200, "[".repeat(60_000), "[".repeat(60_000)],
    [200, "x".repeat(100_000), "x".repeat(65_536)],
  ])("requestReport() resolves when the answer is %i (case %$)", async (status, text, body) => {
    answer = (response) => void response.writeHead(status).end(text);
    await expect(client().requestReport({})).resolves.toEqual({ status, body });
  });

  it("requestReport() takes the key out of the answer when the service echoes it", async () => {
    answer = (response) => void response.end(JSON.stringify({ key, [key]: [`is ${key}`], n: 1 }));
    const { body } = await client().requestReport({});
    expect(body).toEqual({ key: "[api key]", "[api key]": ["is [api key]"], n: 1 });
  });

  it("requestReport() leaves the answer as it is when the key has fewer than 8 characters", async () => {
    for (const body of [{ ok: true, monkey: ["key-1"], n: 1 }, "monkey 1"]) {
      answer = (response) => void response.end(JSON.stringify(body));
      for (const apiKey of ["k", "key", "1"]) {
        await expect(client({ apiKey }).requestReport({})).resolves.toMatchObject({ body });
      }
    }
  });

  it("requestReport() sends nothing when the report is invalid", async () => {
    const sent = client().requestReport({ start_date: "2025-13" });
    await expect(sent).rejects.toBeInstanceOf(InvalidReportRequestError);
    expect(requests).toEqual([]);
  });
});

describe("options", () => {
  const wrong: [string, keyof ClientOptions, unknown][] = [
    ["missing", "baseUrl", undefined],
    ["empty", "baseUrl", ""],
    ["relative", "baseUrl", "/reports"],
    ["without scheme", "baseUrl", "reports.example"],
    ["another scheme", "baseUrl", "ftp://reports.example"],
    ["no host", "baseUrl", "https://"],
    ["with query", "baseUrl", "https://reports.example/?a=1"],
    ["with hash", "baseUrl", "https://reports.example/#"],
    ["with credentials", "baseUrl", "https://me:canary@reports.example"],
    ["missing", "apiKey", undefined],
    ["empty", "apiKey", ""],
    ["space inside", "apiKey", "canary 1"],
    ["line end", "apiKey", "canary\n"],
    ["no-break space", "apiKey", "\u00a0canary"],
    ["in []", "apiKey", "[canary]"],
    ["in {}", "apiKey", "{canary}"],
    ["in <>", "apiKey", "<canary>"],
    ["half a character", "apiKey", "canary\ud800"],
    ["a whole file", "apiKey", `canary${"k".repeat(2_043)}`],
    ["zero", "timeoutMs", 0],
    ["a fraction", "timeoutMs", 1.5],
    ["text", "timeoutMs", "1000"],
    ["longer than a timer", "timeoutMs", 2 ** 31],
    ["unknown", "reportAuth", "cookie"],
    ["no function", "fetch", "node-fetch"],
  ];
  it.each(wrong)("createClient() throws a TypeError when %s: %s", (_, option, value) => {
    const create = () => createClient({ baseUrl, apiKey: key, [option]: value } as ClientOptions);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(new RegExp(`^${option} `));
    expect(create).not.toThrow(/canary/);
  });

  it("createClient(), testWebhook() and requestReport() say to give the href when they are given a URL object", async () => {
    const url = new URL(`${baseUrl}/?canary=1`) as unknown as string;
    const href = /^[^?]* as text: give the href of the URL object\.?$/;
    expect(() => client({ baseUrl: url })).toThrow(href);
    await expect(client().testWebhook(url)).rejects.toThrow(href);
    await expect(client().requestReport({ webhook_url: url })).rejects.toThrow(href);
  });

  it("createClient() names all options when one is unknown, and needs an object", () => {
    const create = (options?: unknown) => () => createClient(options as ClientOptions);
    expect(create({ baseUrl, apiKey: key, timeout: 50 })).toThrow(
      new TypeError(
        "createClient: timeout is no option; these are: baseUrl, apiKey, fetch, timeoutMs, reportAuth",
      ),
    );
    const noObject = "createClient: options must be an object, not";
    expect(create()).toThrow(new TypeError(`${noObject} undefined`));
    expect(create("canary")).toThrow(new TypeError(`${noObject} a string`));
  });

  it.each([null, 7, "x", [], { sig: 1 }, { signal: null }, { signal: 7 }, { signal: {} }])(
    "authorize() and requestReport() reject with a TypeError that names them, and send nothing, when their options are %j",
    async (given) => {
      const { authorize, requestReport } = client();
      const options = given as object;
      await expect(authorize("s", options)).rejects.toThrow(/^authorize: (options|sig|signal) /);
      const asked = requestReport({ domains: ["example.com"] }, options);
      await expect(asked).rejects.toThrow(/^requestReport: (options|sig|signal) /);
      expect(requests).toEqual([]);
    },
  );

  it("createClient() asks for the key at every call when it is a function", async () => {
    const keys = ["first", "second", "[third]"];
    const rotating = client({ apiKey: async () => keys.shift() ?? "" });
    await rotating.authorize("s");
    await rotating.authorize("s");
    expect(requests.map(({ url }) => url.split("=")[1])).toEqual(["first", "second"]);
    for (const why of ["brackets", "empty"]) {
      const error = await rejection(rotating.authorize("s"));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toMatch(/^apiKey is /);
      expect(error.message).toContain(why);
      expect(error.message).not.toContain("third");
    }
    expect(requests).toHaveLength(2);
  });

  it("createClient() makes known which key it sent last, so that others' errors don't show it", async () => {
    const redact = (of: object) => redactorOf(of)("first-key, second-key, not-yet-sent");
    expect(redact(client({ apiKey: "first-key" }))).toBe("[api key], second-key, not-yet-sent");
    const keys = ["first-key", "second-key"];
    const rotating = client({ apiKey: async () => keys.shift() ?? "" });
    expect(redact(rotating)).toBe("first-key, second-key, not-yet-sent");
    await rotating.authorize("s");
    expect(redact(rotating)).toBe("[api key], second-key, not-yet-sent");
    await rotating.authorize("s");
    expect(redact({ ...rotating })).toBe("[api key], [api key], not-yet-sent");
  });

  it("createClient() keeps the key out when the client is inspected or serialised", async () => {
    const made = client();
    await made.authorize("s");
    const shown = inspect(made, { depth: Number.POSITIVE_INFINITY, showHidden: true });
    expect(shown + JSON.stringify(made) + Object.values(made).join()).not.toContain("canary");
    const { authorize } = made;
    await expect(authorize("s")).resolves.toBe("valid");
  });

  it("createClient() takes the global fetch when it is given as the option", () => {
    const options: ClientOptions = { baseUrl, apiKey: key, fetch: globalThis.fetch };
    expect(() => createClient(options)).not.toThrow();
  });
});

it("requestReport() works on Node in the world of a browser, which has no setImmediate", async () => {
  vi.stubGlobal("setImmediate", undefined);
  vi.resetModules();
  const { createClient: create } = await import("./client.ts");
  const asking = create({ baseUrl, apiKey: key, reportAuth: "query" });
  expect(await asking.requestReport({})).toMatchObject({ status: 200 });
});
