import { type Client, createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { reporthook } from "@reporthook/hono";
import { Hono } from "hono";

/** The receiver with its handlers: here goes what your app does with a report. */
export function createReports(client: Client, inbox: Inbox): Receiver {
  const receiver = createReceiver({ client, inbox });
  receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));
  receiver.on("report.internal_error", (event) => console.log(`Report ${event.reportId} failed`));
  return receiver;
}

/** The app, which does not listen yet. */
export function createApp(receiver: Receiver): Hono {
  const app = new Hono();
  app.post("/webhooks/reports", reporthook(receiver));
  app.get("/health", async (c) => {
    const { ready } = await receiver.health();
    return c.json({ ready }, ready ? 200 : 503);
  });
  return app;
}
