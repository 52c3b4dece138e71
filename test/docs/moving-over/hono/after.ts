import { createAdaptorServer, type ServerType } from "@hono/node-server";
import type { Receiver } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { reporthook } from "@reporthook/hono";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";

export function startShop(receiver: Receiver): ServerType {
  const app = new Hono();
  app.post("/webhooks/reports", reporthook(receiver));
  app.use(bodyLimit({ maxSize: 100_000 }));
  app.post("/orders", async (c) => c.json(await c.req.json(), 201));
  const server = createAdaptorServer(app);
  process.once("SIGTERM", () => shutdown(server, receiver));
  return server;
}
