import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import Router from "@koa/router";
import { createReceiver, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { expect, onTestFinished, test } from "vitest";
import { checkFramework, inFramework, sendTest } from "#cli";
import { express4, Koa2 } from "../adapters/hosts/frameworks.ts";

const path = "/webhooks/reports";

function koa(app: Koa, receiver: Receiver): RequestListener {
  const router = new Router();
  router.post(path, toKoa(receiver));
  app.use(router.routes());
  return app.callback();
}

async function inFastify(receiver: Receiver): Promise<RequestListener> {
  const app = fastify();
  app.post(path, (req, reply) => {
    reply.hijack();
    return nodeHandler(receiver)(req.raw, reply.raw);
  });
  await app.ready();
  return app.routing;
}

const quiet = (app: express.Express): express.Express => app.disable("x-powered-by");

test.each<[string, string, (receiver: Receiver) => RequestListener | Promise<RequestListener>]>([
  ["Express", "Express 5", (receiver) => express().post(path, toExpress(receiver))],
  ["Express", "Express 4", (receiver) => express4().post(path, toExpress(receiver))],
  [
    "Express",
    "Express that hides its name",
    (receiver) => quiet(express()).post(path, toExpress(receiver)),
  ],
  ["Koa", "Koa 3", (receiver) => koa(new Koa(), receiver)],
  ["Koa", "Koa 2", (receiver) => koa(new Koa2(), receiver)],
  ["Hono", "Hono", (receiver) => listenerOf(new Hono().post(path, toHono(receiver)))],
  ["Fastify", "Fastify", inFastify],
  ["unknown", "plain Node", (receiver) => nodeHandler(receiver)],
])("checkFramework() says %s when it sees %s", async (name, _, mount) => {
  const client = { authorize: async () => "valid" as const };
  const receiver = createReceiver({ client, logger: false });
  const server = createServer(await mount(receiver)).listen(0, "127.0.0.1");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await receiver.close();
  });
  await once(server, "listening");
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  expect(await checkFramework(to, await sendTest(to))).toMatchObject({
    result: "pass",
    says: name,
  });
});

function listenerOf(app: Hono): RequestListener {
  return createAdaptorServer(app).listeners("request")[0] as RequestListener;
}

test("inFramework() has a line to type that mounts with a router when the framework is Koa", () => {
  const type = 'app.post("/hook", reporthook(receiver));';
  const check = { name: "reachable", result: "fail", says: "answered 404", type } as const;
  expect(inFramework(check, "Koa").type).toBe(
    'router.post("/hook", reporthook(receiver)); app.use(router.routes());',
  );
  expect(inFramework(check, "Express")).toBe(check);
});
