import { request } from "node:http";
import { createRequire } from "node:module";
import { gate } from "@reporthook/test-support/gate";
import {
  answering,
  clientOf,
  failures,
  operations,
  serveRaw,
} from "@reporthook/test-support/service-calls";
import nodeFetch from "node-fetch";
import { describe, expect, it } from "vitest";
import type { Fetch } from "./call-service.ts";

// Its types would bring those of browsers into every file.
const crossFetch: Fetch = createRequire(import.meta.url)("cross-fetch");
const report = '{"report_id":"r1"}';

/** Answers as an agent gives them that knows only a part of fetch. */
const only =
  (...kept: readonly ("text" | "arrayBuffer" | "body")[]): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    const { status, headers } = response;
    const parts = {
      text: { text: () => response.text() },
      arrayBuffer: { arrayBuffer: () => response.arrayBuffer() },
      body: { body: { [Symbol.toStringTag]: "a body of another kind" } as never },
    };
    return Object.assign({ status, headers }, ...kept.map((part) => parts[part]));
  };

/** Resolves to the response of node:http itself. */
const byHttp = ((url, { body, ...init }) =>
  new Promise((resolve, reject) => {
    const sent = request(url, init, (response) => resolve(response as never));
    sent.on("error", reject).end(body);
  })) satisfies Fetch;

const fetches: [string, Fetch][] = [
  ["node:http, whose response is the stream", byHttp],
  ["node-fetch, whose body is a stream of Node", nodeFetch],
  ["cross-fetch", crossFetch],
  ["text() alone", only("text")],
  ["arrayBuffer() alone", only("arrayBuffer")],
  ["text() beside a body of another kind", only("body", "text")],
];

describe.each(fetches)("a fetch with %s", (_, given) => {
  it("requestReport() resolves to the answer that names the report", async () => {
    const baseUrl = await answering(202, { "content-type": "application/json" }, report);
    const client = clientOf({ baseUrl, fetch: given });
    const answer = await client.requestReport({ domains: ["a.example"] });
    expect(answer).toEqual({ status: 202, body: { report_id: "r1" } });
  });

  it("authorize() has its verdict by the status, without regard to the body", async () => {
    const client = clientOf({ baseUrl: await answering(406), fetch: given });
    await expect(client.authorize("s")).resolves.toBe("invalid");
  });

  it("callService() keeps 64 KiB of a larger answer, and 2 KiB in an error", async () => {
    const options = { fetch: given, baseUrl: await answering(200, {}, "é".repeat(1_000_000)) };
    const { body } = await clientOf(options).requestReport({});
    expect(new TextEncoder().encode(String(body)).byteLength).toBe(65_536);
    const refusing = { fetch: given, baseUrl: await answering(500, {}, "e".repeat(1_000_000)) };
    for (const error of await failures(refusing)) expect(error.body).toHaveLength(2_048);
  });
});

// node-fetch 2, which cross-fetch is on Node, does not notice: there the time runs out.
it.each(fetches.filter(([, given]) => given !== crossFetch))(
  "callService() rejects when the body breaks off, with %s",
  async (_, given) => {
    const baseUrl = await serveRaw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf");
    const calls = operations({ baseUrl, fetch: given }).slice(1);
    for (const error of await failures({ baseUrl }, calls)) {
      expect(error).toMatchObject({
        code: "service_unreachable",
        serviceStatus: 200,
        retryable: false,
      });
    }
  },
);

it("callService() rejects, and says why, when the body can be read in no way", async () => {
  const baseUrl = await answering(200, {}, report);
  for (const error of await failures({ baseUrl, fetch: only("body") })) {
    expect(error).toMatchObject({
      code: "service_unreachable",
      serviceStatus: 200,
      retryable: false,
    });
    expect(error.cause.message).toBe("The fetch given kept no body that can be read");
  }
});

const html = { "content-type": "Text/HTML; charset=utf-8" };
const page = "<!-- by a proxy -->\n<HTML><body>Sign in</body>";

describe("a page in the place of an answer", () => {
  it.each<[string, Record<string, string>, string]>([
    ["HTML by its type", html, "<title>Sign in</title>"],
    ["XHTML", { "content-type": "application/xhtml+xml" }, '<?xml version="1.0"?><html/>'],
    ["HTML by its beginning alone", {}, page],
    ["HTML of another type", { "content-type": "text/plain" }, "\ufeff\n<!DOCTYPE html><p>"],
  ])("callService() rejects with service_failed when a 200 brings %s", async (_, headers, body) => {
    for (const error of await failures({ baseUrl: await answering(200, headers, body) })) {
      expect(error).toMatchObject({ code: "service_failed", serviceStatus: 200, retryable: false });
      expect(error.message).toMatch(/answered 200 with an HTML page, .*: check baseUrl/);
      expect(error.body).toContain("<");
    }
  });

  it("authorize() has no verdict when the page breaks off or never ends", async () => {
    const cut = await serveRaw(`HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n${page}`);
    const authorize = operations({ baseUrl: cut }).slice(0, 1);
    const [error] = await failures({ baseUrl: cut }, authorize);
    expect(error).toMatchObject({ code: "service_failed", serviceStatus: 200 });
    const endless: Fetch = async () =>
      new Response(
        new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(page)) }),
      );
    const client = clientOf({ fetch: endless, timeoutMs: 50 });
    await expect(client.authorize("s")).rejects.toMatchObject({ code: "service_timeout" });
  });

  it.each([
    ["before its first byte", ""],
    ["in the white space", "\n\n"],
  ])("authorize() has no verdict when a 200 that is called HTML is cut off %s", async (_, body) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9`;
    const baseUrl = await serveRaw(`${head}\r\n\r\n${body}`);
    const [error] = await failures({ baseUrl }, operations({ baseUrl }).slice(0, 1));
    expect(error).toMatchObject({ code: "service_failed", serviceStatus: 200 });
  });

  it("authorize() has its verdict soon when the body never ends", async () => {
    const stopped = gate();
    const endless: Fetch = async (_url, { signal }) =>
      new Response(
        new ReadableStream({
          start(stream) {
            stream.enqueue(new TextEncoder().encode('{"ok":'));
            signal.addEventListener("abort", stopped.open);
          },
        }),
      );
    const client = clientOf({ fetch: endless, timeoutMs: 600_000 });
    await expect(client.authorize("s")).resolves.toBe("valid");
    await stopped.opened;
  });

  it.each([
    ["whose cancel() gives no promise", () => undefined],
    [
      "whose cancel() throws",
      () => {
        throw new Error("no");
      },
    ],
  ])("authorize() ends with a stream %s", async (_, cancel) => {
    const read = () => new Promise<never>(() => {});
    const body = { getReader: () => ({ read, cancel }) } as never;
    const fetch: Fetch = async () => ({ status: 500, headers: new Headers(), body });
    const client = clientOf({ fetch, timeoutMs: 50 });
    await expect(client.authorize("s")).rejects.toMatchObject({ code: "service_timeout" });
  });

  it.each([
    [406, "invalid"],
    [424, "expired"],
  ])("authorize() has its verdict when a %i is explained by a page", async (status, verdict) => {
    const client = clientOf({ baseUrl: await answering(status, html, page) });
    await expect(client.authorize("s")).resolves.toBe(verdict);
  });
});
