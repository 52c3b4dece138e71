import { createServer, type Server } from "node:http";
import bodyParser from "@koa/bodyparser";
import Router from "@koa/router";
import type { Receiver } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { reporthook } from "@reporthook/koa";
import Koa from "koa";

export function startShop(receiver: Receiver): Server {
  const app = new Koa();
  const router = new Router();
  const webhooks = new Router();
  webhooks.post("/webhooks/reports", reporthook(receiver));
  app.use(webhooks.routes());
  app.use(bodyParser());
  router.post("/orders", (ctx) => {
    ctx.status = 201;
    ctx.body = ctx.request.body;
  });
  app.use(router.routes());
  const server = createServer(app.callback());
  process.once("SIGTERM", () => shutdown(server, receiver));
  return server;
}
