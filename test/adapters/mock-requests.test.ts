import type { IncomingMessage, ServerResponse } from "node:http";
import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { reporthook as onExpress } from "@reporthook/express";
import { reporthook as onHono } from "@reporthook/hono";
import { type KoaContext, reporthook as onKoa } from "@reporthook/koa";
import express from "express";
import { createRequest, createResponse, type RequestOptions } from "node-mocks-http";
import { describe, expect, it, onTestFinished } from "vitest";

const emulator = createEmulator();
const client = createClient(emulator.clientOptions);
const { headers, body } = emulator.notification("report.complete");

function setUp() {
  const receiver = createReceiver({
    client,
    inbox: memoryInbox(),
    logger: false,
    autostart: false,
  });
  onTestFinished(() => receiver.close());
  return receiver;
}

type Receiver = ReturnType<typeof setUp>;
interface Answered {
  readonly status: number;
  readonly body: { readonly status?: string; readonly code?: string };
}

async function answerOf(
  request: object,
  answering: (req: IncomingMessage, res: ServerResponse) => unknown,
): Promise<Answered> {
  const response = createResponse();
  await answering(request as IncomingMessage, response);
  return { status: response.statusCode, body: JSON.parse(response._getData()) };
}

async function koaAnswer(receiver: Receiver, req: object): Promise<Answered> {
  const { url, body: kept } = req as { url: string; body: unknown };
  const context = { req, res: {}, request: { originalUrl: url, body: kept }, set() {} };
  await onKoa(receiver)(context as unknown as KoaContext);
  const { status, body: text } = context as unknown as KoaContext;
  return { status, body: JSON.parse(String(text)) };
}

const ways: [string, (receiver: Receiver, req: object) => Promise<Answered>][] = [
  ["nodeHandler()", (receiver, req) => answerOf(req, nodeHandler(receiver))],
  ["Express", (receiver, req) => answerOf(req, onExpress(receiver))],
  ["Koa", koaAnswer],
];

const bytes = new TextEncoder().encode(body);
const bodies: [string, object][] = [
  ["an object", { body: JSON.parse(body) }],
  ["text", { body }],
  ["bytes", { body: Buffer.from(body) }],
  ["bytes of a view", { body: bytes.subarray(0) }],
  ["rawBody beside an object", { rawBody: Buffer.from(body), body: { parsed: true } }],
];

describe.each(ways)("%s", (_, answer) => {
  it.each(bodies)("a receiver answers a plain object with %s", async (_name, kept) => {
    const receiver = setUp();
    const request = { method: "POST", url: "/webhooks/reports", headers, ...kept };
    expect(await answer(receiver, request)).toMatchObject({
      status: 200,
      body: { status: "accepted" },
    });
    const [entry] = await receiver.inbox.list();
    expect(entry?.state).toBe("received");
  });

  it.each(bodies)("a receiver answers node-mocks-http with %s", async (_name, kept) => {
    const options = { method: "POST", url: "/webhooks/reports", headers, ...kept };
    const receiver = setUp();
    const answered = await answer(receiver, createRequest(options as RequestOptions));
    expect(answered).toMatchObject({ status: 200, body: { status: "accepted" } });
  });

  it("a receiver answers a plain object without a body or headers", async () => {
    const request = { method: "POST", url: "/webhooks/reports" };
    expect(await answer(setUp(), request)).toMatchObject({
      status: 400,
      body: { code: "invalid_json" },
    });
  });

  it("a receiver answers a plain object whose body is too large", async () => {
    const request = { method: "POST", url: "/", headers, body: "x".repeat(300_000) };
    expect(await answer(setUp(), request)).toMatchObject({ status: 413 });
  });
});

it("an Express app answers a request of node-mocks-http", async () => {
  const app = express().use(express.json()).post("/webhooks/reports", onExpress(setUp()));
  const request = createRequest({
    method: "POST",
    url: "/webhooks/reports",
    headers,
    body: JSON.parse(body),
  });
  const response = createResponse({ eventEmitter: (await import("node:events")).EventEmitter });
  const ended = new Promise((resolve) => response.on("end", resolve));
  app(request, response);
  await ended;
  expect(response.statusCode).toBe(200);
});

describe("web standard requests", () => {
  it.each<[string, unknown]>([
    ["a request of Express", createRequest({ method: "POST", url: "/", headers })],
    ["a Fetch event", { request: new Request("http://a.example") }],
    ["a text", "http://a.example"],
    ["a URL", new URL("http://a.example")],
    ["null", null],
    ["nothing", undefined],
  ])("receiver.fetch() rejects %s, and says what to mount", async (_, given) => {
    const answering = setUp().fetch(given as Request);
    await expect(answering).rejects.toThrow(TypeError);
    await expect(answering).rejects.toThrow(/takes a web standard Request.*reporthook\(receiver\)/);
  });

  it("receiver.fetch() takes a request that is like a web standard one", async () => {
    const url = "http://a.example/webhooks/reports";
    const { status } = await setUp().fetch(new Request(url, { method: "POST", headers, body }));
    expect(status).toBe(200);
    const like = { url, method: "GET", headers: new Map(), text() {} } as unknown as Request;
    expect((await setUp().fetch(like)).status).toBe(405);
  });
});

it("the handler for Hono names the mistake as well", async () => {
  const context = { req: { raw: {} }, env: {} } as unknown as Parameters<
    ReturnType<typeof onHono>
  >[0];
  await expect(onHono(setUp())(context)).rejects.toThrow(/takes a web standard Request/);
});
