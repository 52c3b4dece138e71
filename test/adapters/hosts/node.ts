import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import { text } from "node:stream/consumers";
import { createAdaptorServer, getRequestListener } from "@hono/node-server";
import Router from "@koa/router";
import { type NodeRequest, type NodeResponse, nodeHandler } from "@reporthook/core/node";
import { reporthook as toExpress } from "@reporthook/express";
import type { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import type { MountedReceiver, MountHost } from "@reporthook/testing";
import express5 from "express";
import { Hono } from "hono";
import Koa3 from "koa";
import mount from "koa-mount";
import { honoApp, path } from "./fetch.ts";
import { express4, Koa2 } from "./frameworks.ts";
import { http2Host, listen, served, socketHost } from "./mount.ts";

function onExpress(
  express: typeof express5,
  methods: MountHost["methods"],
  attach: (app: express5.Express, receiver: MountedReceiver) => void,
): MountHost {
  return socketHost(methods, (receiver, consumed) => {
    const app = express();
    if (consumed) app.use((req, _res, next) => void text(req).then(() => next()));
    attach(app, receiver);
    return listen(app, path);
  });
}

type AttachToKoa = (app: Koa3, handler: ReturnType<typeof toKoa>) => void;

function koaApp(
  Koa: typeof Koa3,
  receiver: MountedReceiver,
  consumed: boolean,
  attach: AttachToKoa,
) {
  const app = new Koa();
  // It tells of each sender that goes away.
  app.silent = true;
  if (consumed) app.use((ctx, next) => text(ctx.req).then(() => next()));
  attach(app, toKoa(receiver));
  return app.callback();
}

function onKoa(Koa: typeof Koa3, methods: MountHost["methods"], attach: AttachToKoa): MountHost {
  return socketHost(methods, (receiver, consumed) =>
    listen(koaApp(Koa, receiver, consumed, attach), path),
  );
}

function onHono(
  methods: MountHost["methods"],
  attach: (app: Hono, handler: ReturnType<typeof toHono>) => void,
): MountHost {
  return socketHost(methods, (receiver, consumed) => {
    const { fetch } = honoApp(receiver, consumed, attach);
    return served(createAdaptorServer({ fetch }) as import("node:http").Server, path);
  });
}

function plainNode(receiver: MountedReceiver, consumed: boolean) {
  const handler = nodeHandler(receiver);
  return (req: NodeRequest, res: NodeResponse): void => {
    if (consumed) void text(req).then(() => handler(req, res));
    else void handler(req, res);
  };
}

/** Every way to mount a receiver over a real socket. */
export const nodeHosts: Record<string, MountHost> = {
  "node:http": socketHost("all", (receiver, consumed) =>
    listen(plainNode(receiver, consumed), path),
  ),
  "node:http2": http2Host("all", path, (receiver, consumed) =>
    createHttp2Server(plainNode(receiver, consumed)),
  ),
  "Koa 3 on HTTP/2": http2Host("all", path, (receiver, consumed) =>
    createHttp2Server(koaApp(Koa3, receiver, consumed, (app, handler) => app.use(handler))),
  ),
  "Hono on Node, HTTP/2": http2Host("post", path, (receiver, consumed) => {
    const { fetch } = honoApp(receiver, consumed, (app, handler) => app.post(path, handler));
    return createAdaptorServer({ fetch, createServer: createHttp2Server }) as Http2Server;
  }),
  "Hono on Node, app.post": onHono("post", (app, handler) => app.post(path, handler)),
  "Hono on Node, app.all": onHono("all", (app, handler) => app.all(path, handler)),
  "Hono on Node, app.use under a base path": onHono("all", (app, handler) =>
    app.basePath("/webhooks").use("/reports", handler),
  ),
  "Hono on Node, app.route": onHono("post", (app, handler) =>
    app.route("/webhooks", new Hono().post("/reports", handler)),
  ),
  "Hono in Express 5, under a prefix": onExpress(express5, "post", (app, receiver) => {
    const { fetch } = honoApp(receiver, false, (inner, handler) => inner.post("/reports", handler));
    app.use("/webhooks", getRequestListener(fetch));
  }),
};
for (const [name, express] of [
  ["Express 5", express5],
  ["Express 4", express4],
] as const) {
  nodeHosts[`${name}, app.post`] = onExpress(express, "post", (app, receiver) =>
    app.post(path, toExpress(receiver)),
  );
  nodeHosts[`${name}, app.use`] = onExpress(express, "all", (app, receiver) =>
    app.use(path, toExpress(receiver)),
  );
  nodeHosts[`${name}, a router under a prefix`] = onExpress(express, "post", (app, receiver) =>
    app.use("/webhooks", express.Router().post("/reports", toExpress(receiver))),
  );
  nodeHosts[`${name}, an app under a prefix`] = onExpress(express, "all", (app, receiver) =>
    app.use("/webhooks", express().use("/reports", toExpress(receiver))),
  );
}
for (const [name, Koa] of [
  ["Koa 3", Koa3],
  ["Koa 2", Koa2],
] as const) {
  nodeHosts[`${name}, router.post`] = onKoa(Koa, "post", (app, handler) =>
    app.use(new Router().post(path, handler).routes()),
  );
  nodeHosts[`${name}, a router with a prefix`] = onKoa(Koa, "post", (app, handler) =>
    app.use(new Router({ prefix: "/webhooks" }).post("/reports", handler).routes()),
  );
  nodeHosts[`${name}, mount`] = onKoa(Koa, "all", (app, handler) => app.use(mount(path, handler)));
  nodeHosts[`${name}, app.use`] = onKoa(Koa, "all", (app, handler) => app.use(handler));
}
