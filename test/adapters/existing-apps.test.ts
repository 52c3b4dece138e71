import { once } from "node:events";
import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import bodyParser from "@koa/bodyparser";
import koaCors from "@koa/cors";
import Router from "@koa/router";
import { createClient, createReceiver, memoryInbox, type Receiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { reporthook as onExpress } from "@reporthook/express";
import { reporthook as onHono } from "@reporthook/hono";
import { reporthook as onKoa } from "@reporthook/koa";
import compression from "compression";
import express from "express";
import { rateLimit } from "express-rate-limit";
import expressSession from "express-session";
import helmet from "helmet";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { timing } from "hono/timing";
import Koa from "koa";
import koaCompress from "koa-compress";
import koaHelmet from "koa-helmet";
import koaSession from "koa-session";
import request from "supertest";
import { expect, onTestFinished, test } from "vitest";

const path = "/webhooks/reports";
const shop = { origin: "https://shop.example", credentials: true };

// Apps as they may have stood for years: the route of the webhook is all that is new. Their other routes are answered in
// test/docs/moving-over.test.ts, and parsers.test.ts shows the refusals of a parser ahead.
const apps: Readonly<Record<string, (receiver: Receiver) => Server>> = {
  Express(receiver) {
    const app = express();
    app.set("trust proxy", 1);
    app.use(helmet(), compression());
    app.use(
      rateLimit({ windowMs: 60_000, limit: 200, standardHeaders: true, legacyHeaders: false }),
    );
    app.use(expressSession({ secret: "not a secret", resave: false, saveUninitialized: false }));
    app.use(express.json(), express.urlencoded({ extended: false }));
    app.post(path, onExpress(receiver));
    app.use((_req, res) => void res.status(404).json({ error: "not found" }));
    return app.listen(0, "127.0.0.1");
  },
  Koa(receiver) {
    const app = new Koa();
    app.keys = ["not a secret"];
    app.proxy = true;
    app.use(async (ctx, next) => {
      await next();
      if (ctx.status === 404 && !ctx.body) ctx.body = { error: "not found" };
    });
    app
      .use(koaHelmet())
      .use(koaCors(shop))
      .use(koaCompress({ threshold: 0 }));
    app.use(koaSession({}, app)).use(bodyParser());
    const router = new Router().post(path, onKoa(receiver));
    return app.use(router.routes()).use(router.allowedMethods()).listen(0, "127.0.0.1");
  },
  Hono(receiver) {
    const app = new Hono();
    app.use(requestId(), timing(), secureHeaders(), compress(), cors(shop));
    // An audit log, which reads the body of every request.
    app.use((c, next) => c.req.text().then(() => next()));
    app.post(path, onHono(receiver));
    app.notFound((c) => c.json({ error: "not found" }, 404));
    return serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  },
};

test.each(Object.entries(apps))(
  "a genuine notification is acknowledged and handled behind the usual middleware of %s, its duplicate only acknowledged",
  async (_name, listen) => {
    const emulator = createEmulator();
    const client = createClient(emulator.clientOptions);
    const receiver = createReceiver({ client, inbox: memoryInbox(), logger: false });
    const completed: unknown[] = [];
    receiver.on("report.complete", ({ reportId }) => void completed.push(reportId));
    const server = listen(receiver);
    onTestFinished(async () => {
      await new Promise((resolve) => server.close(resolve));
      await receiver.close();
      await emulator.close();
    });
    await once(server, "listening");
    const { headers, body } = emulator.notification("report.complete", { reportId: "größe-1" });
    const deliver = () => request(server).post(path).set(headers).send(body).expect(200);
    const first = await deliver().expect("content-type", "application/json");
    expect(first.body).toEqual({ status: "accepted", id: expect.any(String) });
    expect(first.headers).toMatchObject({ "x-content-type-options": "nosniff" });
    expect(first.headers["set-cookie"]).toBeUndefined();
    expect((await deliver()).body).toEqual({ status: "duplicate", id: first.body.id });
    await receiver.idle({ timeoutMs: 60_000 });
    expect(completed).toEqual(["größe-1"]);
  },
);
