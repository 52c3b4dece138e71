import { createServer, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
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
type Make = (fail: (error: unknown) => void) => RequestListener;
const theLine = /reporthook\(receiver\)\)/;
const another = /another framework|web standard Request.*of the adapter/;
const wrong: readonly (readonly [app: string, make: Make, told: RegExp])[] = [
  ["Express 5 with the adapter itself", inExpress(express5, () => toExpress), theLine],
  ["Express 4 with the adapter itself", inExpress(express4, () => toExpress), theLine],
  ["Koa 3 with the adapter itself", inKoa(Koa3, () => toKoa), theLine],
  ["Koa 2 with the adapter itself", inKoa(Koa2, () => toKoa), theLine],
  ["Hono with the adapter itself", inHono(() => toHono), theLine],
  [
    "Express 5 with a dashboard itself",
    inExpress(express5, page),
    /onNode\(dashboard\(receiver\)\)/,
  ],
  [
    "Express 4 with a dashboard itself",
    inExpress(express4, page),
    /onNode\(dashboard\(receiver\)\)/,
  ],
  ["Koa 3 with a dashboard itself", inKoa(Koa3, page), /onKoa\(dashboard\(receiver\)\)/],
  ["Express with the adapter for Koa", inExpress(express5, mounted(toKoa)), another],
  ["Express with the adapter for Hono", inExpress(express5, mounted(toHono)), another],
  ["Koa with the adapter for Express", inKoa(Koa3, mounted(toExpress)), another],
  ["Koa with the adapter for Hono", inKoa(Koa3, mounted(toHono)), another],
  ["Hono with the adapter for Express", inHono(mounted(toExpress)), another],
];

test.each(wrong)(
  "an app of %s reports the line to write, or which adapter it needs",
  async (_app, make, told) => {
    const errors: unknown[] = [];
    const served = await listen(make((error) => errors.push(error)));
    const { status } = await fetch(new URL(path, served.url), { method: "POST", body: "{}" });
    await served.close();
    expect(status).toBe(500);
    expect(errors.map(String)).toEqual([expect.stringMatching(told)]);
  },
);

test("a node:http server reports the line to write when the adapter itself is the listener", async () => {
  const server = createServer(nodeHandler as never);
  expect(String(caught(() => server.emit("request", {}, {})))).toContain("nodeHandler(receiver)");
});

function page(): unknown {
  return dashboard(ofInbox(memoryInbox()));
}

function mounted(adapter: (receiver: never) => unknown): () => unknown {
  return () => {
    const receiver = createReceiver({ client, inbox: memoryInbox(), logger: false });
    onTestFinished(() => receiver.close());
    return adapter(receiver as never);
  };
}

function inExpress(express: typeof express5, handler: () => unknown): Make {
  return (fail) => {
    const app = express().post(path, handler() as never);
    return app.use(((error, _req, res, _next) => {
      fail(error);
      res.status(500).end();
    }) as express5.ErrorRequestHandler);
  };
}

function inKoa(Koa: typeof Koa3, handler: () => unknown): Make {
  return (fail) => {
    const app = new Koa().on("error", fail);
    return app.use(new Router().post(path, handler() as never).routes()).callback();
  };
}

function inHono(handler: () => unknown): Make {
  return (fail) => {
    const app = new Hono().post(path, handler() as never);
    app.onError((error, c) => {
      fail(error);
      return c.text("", 500);
    });
    return getRequestListener(app.fetch);
  };
}

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
