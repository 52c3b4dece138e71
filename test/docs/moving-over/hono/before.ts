import { createAdaptorServer, type ServerType } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { type Options, receiveByHand } from "../by-hand.ts";

export function startShop(options: Options): ServerType {
  const app = new Hono();
  app.use(bodyLimit({ maxSize: 100_000 }));
  app.post("/webhooks/reports", async (c) => {
    const signature = c.req.header("X-svc-authorization");
    return c.json({}, await receiveByHand(options, signature, await c.req.json()));
  });
  app.post("/orders", async (c) => c.json(await c.req.json(), 201));
  return createAdaptorServer(app);
}
