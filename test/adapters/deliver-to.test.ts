import { createServer, type RequestListener } from "node:http";
import Router from "@koa/router";
import { createClient, createReceiver, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { type AppUnderTest, createEmulator } from "@reporthook/emulator";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";
import { afterEach, expect, test } from "vitest";
import { express4, Koa2 } from "./hosts/frameworks.ts";

const path = "/webhooks/reports";
const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function koaApp(receiver: Receiver, app: Koa): Koa {
  const router = new Router();
  router.post(path, toKoa(receiver));
  app.use(router.routes());
  return app;
}

test.each<[string, (receiver: Receiver) => AppUnderTest]>([
  ["Express 5", (receiver) => express().post(path, toExpress(receiver))],
  ["Express 4", (receiver) => express4().post(path, toExpress(receiver))],
  ["Koa 3", (receiver) => koaApp(receiver, new Koa())],
  ["Koa 2", (receiver) => koaApp(receiver, new Koa2())],
  ["Koa's callback", (receiver) => koaApp(receiver, new Koa()).callback()],
  ["Hono", (receiver) => new Hono().post(path, toHono(receiver))],
  ["plain Node", (receiver) => nodeHandler(receiver)],
  ["a receiver", (receiver) => receiver],
])("deliverTo() brings a report's events with their context through %s", async (_, mount) => {
  const emulator = createEmulator();
  const client = createClient(emulator.clientOptions);
  const secret = "0123456789abcdef0123456789abcdef";
  const receiver = createReceiver<{ customer: string }>({
    client,
    callback: { secrets: [secret], require: true },
    logger: false,
  });
  ends.push(receiver.close, emulator.close);
  const seen: string[] = [];
  receiver.on("report", (event) => void seen.push(`${event.type} ${event.context.customer}`));
  emulator.deliverTo(mount(receiver));

  const context = { customer: "c-1" };
  const url = await receiver.callbackUrl(`https://app.example${path}`, { context });
  await client.requestReport({ webhook_url: url });
  await emulator.settled();
  await receiver.idle();
  const [report] = emulator.reports.list();
  await emulator.reports.setStatus(report?.id ?? "", "complete");
  await receiver.idle();
  expect(seen).toEqual(["report.processing c-1", "report.complete c-1"]);
  expect(emulator.deliveries.map(({ status }) => status)).toEqual([200, 200]);
});

test("deliverTo() shows an app behind a proxy the scheme, host and URL that the service called", async () => {
  const seen: unknown[] = [];
  const app = express().set("trust proxy", true);
  app.post("/hook", ({ protocol, host, originalUrl }, res) => {
    seen.push(`${protocol}://${host}${originalUrl}`);
    res.end();
  });
  const hono = new Hono().post("/hook", (c) => {
    seen.push(c.req.url);
    return c.text("");
  });
  const listener: RequestListener = createServer(app).listeners("request")[0] as RequestListener;
  for (const each of [app, hono, listener]) {
    const emulator = createEmulator();
    ends.push(emulator.close);
    emulator.deliverTo(each);
    const webhook = "https://app.example:8443/hook?a=1";
    await createClient(emulator.clientOptions).testWebhook(webhook);
    expect(seen.splice(0)).toEqual([webhook]);
  }
});
