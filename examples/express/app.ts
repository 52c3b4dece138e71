import { type Client, createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { reporthook } from "@reporthook/express";
import express, { type Express } from "express";

/** The receiver with its handlers: here goes what your app does with a report. */
export function createReports(client: Client, inbox: Inbox): Receiver {
  const receiver = createReceiver({ client, inbox });
  receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));
  receiver.on("report.internal_error", (event) => console.log(`Report ${event.reportId} failed`));
  return receiver;
}

/** The app, which does not listen yet. */
export function createApp(receiver: Receiver): Express {
  const app = express();
  // Ahead of body parsers: the receiver reads the body itself.
  app.post("/webhooks/reports", reporthook(receiver));
  app.use(express.json());
  app.get("/health", async (_request, response) => {
    const { ready } = await receiver.health();
    response.status(ready ? 200 : 503).json({ ready });
  });
  return app;
}
