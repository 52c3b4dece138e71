import Router from "@koa/router";
import { type Client, createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { reporthook } from "@reporthook/koa";
import Koa from "koa";

/** The receiver with its handlers: here goes what your app does with a report. */
export function createReports(client: Client, inbox: Inbox): Receiver {
  const receiver = createReceiver({ client, inbox });
  receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));
  receiver.on("report.internal_error", (event) => console.log(`Report ${event.reportId} failed`));
  return receiver;
}

/** The app, which does not listen yet. */
export function createApp(receiver: Receiver): Koa {
  const router = new Router();
  // Ahead of body parsers: the receiver reads the body itself.
  router.post("/webhooks/reports", reporthook(receiver));
  router.get("/health", async (ctx) => {
    const { ready } = await receiver.health();
    ctx.status = ready ? 200 : 503;
    ctx.body = { ready };
  });
  const app = new Koa();
  app.use(router.routes());
  return app;
}
