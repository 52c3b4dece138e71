import { createServer, type Server } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import { App, HTTPReceiver, LogLevel } from "@slack/bolt";
import express from "express";
import { Webhook } from "standardwebhooks";
import { secret } from "../programs/requests.ts";
import type { Handle } from "./handler.ts";

/** Other libraries that receive webhooks. */
export type PeerName = "octokit" | "bolt" | "standardwebhooks";

/** Each as its README has it. */
export const peers: Record<PeerName, (handle: Handle) => Server | Promise<Server>> = {
  octokit(handle) {
    const webhooks = new Webhooks({ secret });
    webhooks.onAny(({ payload }) => handle(payload as never));
    return createServer(createNodeMiddleware(webhooks));
  },
  async bolt(handle) {
    const app = new App({
      receiver: new HTTPReceiver({ signingSecret: secret, logLevel: LogLevel.ERROR }),
      // With a token the app would ask Slack about it first.
      authorize: async () => ({ botToken: "xoxb-token", botId: "B1", botUserId: "U1" }),
      logLevel: LogLevel.ERROR,
    });
    app.event("report_status", async ({ body }) => handle(body as never));
    return (await app.start(0)) as Server;
  },
  standardwebhooks(handle) {
    const webhook = new Webhook(secret);
    const app = express();
    app.post("/webhooks/reports", express.raw({ type: "*/*" }), async (req, res) => {
      const body = req.body as Buffer;
      await handle(webhook.verify(body, req.headers as Record<string, string>) as never);
      res.sendStatus(200);
    });
    return createServer(app);
  },
};
