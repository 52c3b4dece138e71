import { createServer, type Server } from "node:http";
import bodyParser from "@koa/bodyparser";
import Router from "@koa/router";
import Koa from "koa";
import { type Options, receiveByHand } from "../by-hand.ts";

export function startShop(options: Options): Server {
  const app = new Koa();
  const router = new Router();
  app.use(bodyParser());
  router.post("/webhooks/reports", async (ctx) => {
    const signature = ctx.get("X-svc-authorization");
    ctx.status = await receiveByHand(options, signature, ctx.request.body);
  });
  router.post("/orders", (ctx) => {
    ctx.status = 201;
    ctx.body = ctx.request.body;
  });
  app.use(router.routes());
  return createServer(app.callback());
}
