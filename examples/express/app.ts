import { randomUUID } from "node:crypto";
import { type Client, createReceiver, type Inbox } from "@reporthook/core";
import { reporthook } from "@reporthook/express";
import express, { type Express, type Request } from "express";

const path = "/webhooks/reports";

/** The receiver with its handlers: here goes what your app does with a report. `origin` is the app's public address. */
export function createReports(client: Client, inbox: Inbox, secret: string, origin: string) {
  const callback = { secrets: [secret], require: true, url: origin + path } as const;
  const receiver = createReceiver<{ readonly user: string }>({ client, inbox, callback });
  receiver.on("report.complete", ({ context, reportId }) => {
    console.log(`Report ${reportId} is ready: tell ${context.user}`);
  });
  receiver.on("report.internal_error", ({ context, reportId }) => {
    console.log(`Report ${reportId} failed: tell ${context.user}`);
  });
  receiver.on("report.overdue", ({ context, requestId }) => {
    console.log(`Nothing came of request ${requestId} of ${context.user}: look at the service`);
  });
  return receiver;
}

/** The user who asks. Replace this by your login: it believes the header `x-user` of anybody. */
const userOf = (request: Request): string => request.get("x-user") ?? "somebody";

/** The app, which does not listen yet. */
export function createApp(receiver: ReturnType<typeof createReports>): Express {
  const app = express();
  // Ahead of body parsers: the receiver reads the body itself.
  app.post(path, reporthook(receiver));
  app.use(express.json());
  app.post("/reports", async (request, response) => {
    const user = userOf(request);
    // With the user in the key: nobody gets what another one asked for.
    const idempotencyKey = `${user}:${request.get("idempotency-key") ?? randomUUID()}`;
    const options = { context: { user }, idempotencyKey };
    const { id } = await receiver.reports.request(request.body, options);
    response.status(202).json({ id });
  });
  app.get("/reports/:id", async (request, response) => {
    const record = await receiver.reports.get(request.params.id);
    const isTheirs = record?.context?.user === userOf(request);
    if (!isTheirs) return void response.status(404).json({ error: "There is no such report" });
    const { id, state, reportId } = record;
    response.json({ id, state, reportId });
  });
  app.get("/health", async (_request, response) => {
    const { ready } = await receiver.health();
    response.status(ready ? 200 : 503).json({ ready });
  });
  return app;
}
