import { randomUUID } from "node:crypto";
import {
  type Client,
  createReceiver,
  type Inbox,
  InvalidReportRequestError,
} from "@reporthook/core";
import { reporthook } from "@reporthook/hono";
import { type Context, Hono } from "hono";

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
const userOf = (c: Context): string => c.req.header("x-user") ?? "somebody";

/** The app, which does not listen yet. */
export function createApp(receiver: ReturnType<typeof createReports>): Hono {
  const app = new Hono();
  app.post(path, reporthook(receiver));
  app.post("/reports", async (c) => {
    const user = userOf(c);
    // With the user in the key: nobody gets what another one asked for.
    const idempotencyKey = `${user}:${c.req.header("idempotency-key") ?? randomUUID()}`;
    const options = { context: { user }, idempotencyKey };
    const { id } = await receiver.reports.request(await c.req.json(), options);
    return c.json({ id }, 202);
  });
  app.get("/reports/:id", async (c) => {
    const record = await receiver.reports.get(c.req.param("id"));
    if (record?.context?.user !== userOf(c)) return c.notFound();
    const { id, state, reportId } = record;
    return c.json({ id, state, reportId });
  });
  app.onError((error, c) => {
    if (error instanceof InvalidReportRequestError) return c.json({ error: error.message }, 400);
    console.error(error);
    return c.json({ error: "This failed" }, 500);
  });
  app.get("/health", async (c) => {
    const { ready } = await receiver.health();
    return c.json({ ready }, ready ? 200 : 503);
  });
  return app;
}
