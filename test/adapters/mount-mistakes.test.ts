import { createServer, type RequestListener } from "node:http";
import Router from "@koa/router";
import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { onKoa, onNode } from "@reporthook/dashboard/node";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import express5 from "express";
import { Hono } from "hono";
import Koa3 from "koa";
import { describe, expect, onTestFinished, test } from "vitest";
import { express4, Koa2 } from "./hosts/frameworks.ts";
import { listen } from "./hosts/mount.ts";

const client = createClient({ baseUrl: "https://service.example", apiKey: "k" });
const mistakes: readonly (readonly [string, unknown])[] = [
  ["the options of a receiver", { client }],
  ["a client", client],
  ["createReceiver itself", createReceiver],
  ["a promise of a receiver", Promise.resolve({ mount() {} })],
  ["nothing", undefined],
  ["null", null],
];
const mounts: readonly (readonly [string, (receiver: never) => unknown, string])[] = [
  ["Express", toExpress, 'app.post("/webhooks/reports", reporthook(receiver))'],
  ["Koa", toKoa, 'router.post("/webhooks/reports", reporthook(receiver))'],
  ["Hono", toHono, 'app.post("/webhooks/reports", reporthook(receiver))'],
  ["node:http", nodeHandler, "createServer(nodeHandler(receiver))"],
  ["the dashboard", dashboard, "dashboard(receiver)"],
  ["the dashboard on Node", onNode, "onNode(dashboard(receiver))"],
  ["the dashboard on Koa", onKoa, "onKoa(dashboard(receiver))"],
];

describe.each(mounts)("%s", (_name, mount, line) => {
  const given = mistakes.filter(
    ([, value]) => !line.startsWith("on") || typeof value !== "function",
  );
  test.each(given)("an adapter shows the line to write when it is given %s", (_mistake, given) => {
    const thrown = caught(() => mount(given as never));
    expect(thrown).toBeInstanceOf(TypeError);
    expect(String(thrown)).toContain(line);
  });
});

const path = "/webhooks/reports";
const itself: Record<string, (fail: (error: unknown) => void) => RequestListener> = {
  "Express 5": (fail) => onExpress(express5, fail),
  "Express 4": (fail) => onExpress(express4, fail),
  "Koa 3, a router": (fail) => onKoaRouter(Koa3, fail),
  "Koa 2, a router": (fail) => onKoaRouter(Koa2, fail),
};

/** The errors that an app reports of a POST, which it answers 500. */
async function reportedBy(
  make: (fail: (error: unknown) => void) => RequestListener,
): Promise<string[]> {
  const errors: unknown[] = [];
  const served = await listen(make((error) => errors.push(error)));
  const { status } = await fetch(new URL(path, served.url), { method: "POST", body: "{}" });
  await served.close();
  expect(status).toBe(500);
  return errors.map(String);
}

test.each(Object.entries(itself))(
  "an app of %s reports the line to write when the adapter itself is the handler",
  async (_name, make) => {
    expect(await reportedBy(make)).toEqual([expect.stringContaining("reporthook(receiver))")]);
  },
);

const bare: Record<string, readonly [(fail: (error: unknown) => void) => RequestListener, string]> =
  {
    "Express 5": [(fail) => onExpress(express5, fail, page()), "onNode(dashboard(receiver))"],
    "Express 4": [(fail) => onExpress(express4, fail, page()), "onNode(dashboard(receiver))"],
    "Koa 3": [(fail) => onKoaRouter(Koa3, fail, page()), "onKoa(dashboard(receiver))"],
  };

test.each(Object.entries(bare))(
  "an app of %s reports the line to write when a dashboard itself is the handler",
  async (_name, [make, line]) => {
    expect(await reportedBy(make)).toEqual([expect.stringContaining(line)]);
  },
);

const mounted = (adapter: (receiver: never) => unknown): unknown => {
  const receiver = createReceiver({ client, inbox: memoryInbox(), logger: false });
  onTestFinished(() => receiver.close());
  return adapter(receiver as never);
};
const foreign: Record<string, (fail: (error: unknown) => void) => RequestListener> = {
  "Express with the adapter for Koa": (fail) => onExpress(express5, fail, mounted(toKoa)),
  "Express with the adapter for Hono": (fail) => onExpress(express5, fail, mounted(toHono)),
  "Koa with the adapter for Express": (fail) => onKoaRouter(Koa3, fail, mounted(toExpress)),
  "Koa with the adapter for Hono": (fail) => onKoaRouter(Koa3, fail, mounted(toHono)),
};

test.each(Object.entries(foreign))(
  "an app of %s reports that it needs another one",
  async (_name, make) => {
    expect(await reportedBy(make)).toEqual([
      expect.stringMatching(/another framework|web standard Request.*of the adapter/),
    ]);
  },
);

test("an app of Hono with the adapter for Express reports that it needs another one", async () => {
  const errors: unknown[] = [];
  const app = new Hono().post(path, mounted(toExpress) as never);
  app.onError((error, c) => {
    errors.push(error);
    return c.text("", 500);
  });
  expect((await app.request(path, { method: "POST", body: "{}" })).status).toBe(500);
  expect(errors.map(String)).toEqual([expect.stringContaining("another framework")]);
});

test("an app of Hono reports the line to write when the adapter itself is the handler", async () => {
  const errors: unknown[] = [];
  const app = new Hono().post(path, toHono as never);
  app.onError((error, c) => {
    errors.push(error);
    return c.text("", 500);
  });
  expect((await app.request(path, { method: "POST", body: "{}" })).status).toBe(500);
  expect(errors.map(String)).toEqual([expect.stringContaining("reporthook(receiver))")]);
});

test("a node:http server reports the line to write when the adapter itself is the listener", async () => {
  const server = createServer(nodeHandler as never);
  expect(String(caught(() => server.emit("request", {}, {})))).toContain("nodeHandler(receiver)");
});

const page = (): unknown => dashboard(ofInbox(memoryInbox()));

function onExpress(
  express: typeof express5,
  fail: (error: unknown) => void,
  handler: unknown = toExpress,
): RequestListener {
  const app = express().post(path, handler as never);
  return app.use(((error, _req, res, _next) => {
    fail(error);
    res.status(500).end();
  }) as express5.ErrorRequestHandler);
}

function onKoaRouter(
  Koa: typeof Koa3,
  fail: (error: unknown) => void,
  handler: unknown = toKoa,
): RequestListener {
  const app = new Koa().on("error", fail);
  return app.use(new Router().post(path, handler as never).routes()).callback();
}

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
