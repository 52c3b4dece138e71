import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createReceiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { reporthook } from "@reporthook/hono";
import { Hono } from "hono";

// The receiver in a separate process, so that its memory can be read apart from the sender's.
const receiver = createReceiver({
  client: { authorize: async () => "valid" },
  limits: { bodyMs: 60_000, ackMs: 60_000 },
  logger: false,
});
const server =
  process.argv[2] === "hono"
    ? serve({ fetch: new Hono().post("/", reporthook(receiver)).fetch, port: 0 })
    : createServer(nodeHandler(receiver)).listen(0);
server.on("listening", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", () => process.send?.(process.resourceUsage().maxRSS / 1_024));
process.on("disconnect", () => process.exit());
