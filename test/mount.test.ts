import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { createAdaptorServer } from "@hono/node-server";
import Router from "@koa/router";
import { nodeHandler } from "@reporthook/core/node";
import { type Mountable, type MountHost, mountContract } from "@reporthook/core/testing";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import express5 from "express";
import { Hono } from "hono";
import Koa3 from "koa";
import mount from "koa-mount";
import { describe, test } from "vitest";
import { express4, Koa2 } from "./frameworks.ts";
import { listen, served, socketHost } from "./mount-hosts.ts";

const path = "/webhooks/reports";

function onExpress(
  express: typeof express5,
  methods: MountHost["methods"],
  attach: (app: express5.Express, handler: ReturnType<typeof toExpress>) => void,
): MountHost {
  return socketHost(methods, (receiver, consumed) => {
    const app = express();
    if (consumed) app.use((req, _res, next) => void text(req).then(() => next()));
    attach(app, toExpress(receiver));
    return listen(app, path);
  });
}

function onKoa(
  Koa: typeof Koa3,
  methods: MountHost["methods"],
  attach: (app: Koa3, handler: ReturnType<typeof toKoa>) => void,
): MountHost {
  return socketHost(methods, (receiver, consumed) => {
    const app = new Koa();
    if (consumed) app.use((ctx, next) => text(ctx.req).then(() => next()));
    attach(app, toKoa(receiver));
    return listen(app.callback(), path);
  });
}

function honoApp(
  receiver: Mountable,
  consumed: boolean,
  attach: (app: Hono, handler: ReturnType<typeof toHono>) => void,
): Hono {
  const app = new Hono();
  if (consumed) app.use((c, next) => c.req.raw.text().then(() => next()));
  attach(app, toHono(receiver));
  return app;
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

const hosts: Record<string, MountHost> = {
  "node:http": socketHost("all", (receiver, consumed) => {
    const handler = nodeHandler(receiver);
    const read = (req: IncomingMessage): Promise<unknown> =>
      consumed ? text(req) : Promise.resolve();
    return listen((req, res) => void read(req).then(() => handler(req, res)), path);
  }),
  "receiver.fetch": {
    methods: "all",
    serve: async ({ fetch }, { consumed }) => ({
      url: `https://app.example${path}`,
      async fetch(request) {
        if (consumed) await request.text();
        return fetch(request);
      },
      async close() {},
    }),
  },
  "Hono, app.request": {
    methods: "post",
    serve: async (receiver, { consumed }) => {
      const app = honoApp(receiver, consumed, (app, handler) => app.post(path, handler));
      return {
        url: `https://app.example${path}`,
        fetch: async (request) => app.request(request),
        async close() {},
      };
    },
  },
  "Hono on Node, app.post": onHono("post", (app, handler) => app.post(path, handler)),
  "Hono on Node, app.all": onHono("all", (app, handler) => app.all(path, handler)),
  "Hono on Node, app.use under a base path": onHono("all", (app, handler) =>
    app.basePath("/webhooks").use("/reports", handler),
  ),
  "Hono on Node, app.route": onHono("post", (app, handler) =>
    app.route("/webhooks", new Hono().post("/reports", handler)),
  ),
};
for (const [name, express] of [
  ["Express 5", express5],
  ["Express 4", express4],
] as const) {
  hosts[`${name}, app.post`] = onExpress(express, "post", (app, handler) =>
    app.post(path, handler),
  );
  hosts[`${name}, app.use`] = onExpress(express, "all", (app, handler) => app.use(path, handler));
  hosts[`${name}, a router under a prefix`] = onExpress(express, "post", (app, handler) =>
    app.use("/webhooks", express.Router().post("/reports", handler)),
  );
  hosts[`${name}, an app under a prefix`] = onExpress(express, "all", (app, handler) =>
    app.use("/webhooks", express().use("/reports", handler)),
  );
}
for (const [name, Koa] of [
  ["Koa 3", Koa3],
  ["Koa 2", Koa2],
] as const) {
  hosts[`${name}, router.post`] = onKoa(Koa, "post", (app, handler) =>
    app.use(new Router().post(path, handler).routes()),
  );
  hosts[`${name}, a router with a prefix`] = onKoa(Koa, "post", (app, handler) =>
    app.use(new Router({ prefix: "/webhooks" }).post("/reports", handler).routes()),
  );
  hosts[`${name}, mount`] = onKoa(Koa, "all", (app, handler) => app.use(mount(path, handler)));
  hosts[`${name}, app.use`] = onKoa(Koa, "all", (app, handler) => app.use(handler));
}

describe.concurrent.each(Object.entries(hosts))("%s", (_name, host) => {
  for (const { name, run } of mountContract(host)) test(name, run);
});
