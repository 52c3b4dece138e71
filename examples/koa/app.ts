import { randomUUID } from "node:crypto";
import { bodyParser } from "@koa/bodyparser";
import Router from "@koa/router";
import { type Client, createReceiver, type Inbox } from "@reporthook/core";
import { reporthook } from "@reporthook/koa";
import Koa, { type Context } from "koa";

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
const userOf = (ctx: Context): string => ctx.get("x-user") || "somebody";

/** The app, which does not listen yet. */
export function createApp(receiver: ReturnType<typeof createReports>): Koa {
  const router = new Router();
  // Without a body parser: the receiver reads the body itself.
  router.post(path, reporthook(receiver));
  router.post("/reports", bodyParser(), async (ctx) => {
    const user = userOf(ctx);
    // With the user in the key: nobody gets what another one asked for.
    const idempotencyKey = `${user}:${ctx.get("idempotency-key") || randomUUID()}`;
    const options = { context: { user }, idempotencyKey };
    const { id } = await receiver.reports.request(ctx.request.body ?? {}, options);
    ctx.status = 202;
    ctx.body = { id };
  });
  router.get("/reports/:id", async (ctx) => {
    const record = await receiver.reports.get(ctx.params["id"] ?? "");
    // Without a body Koa answers 404.
    if (record?.context?.user !== userOf(ctx)) return;
    const { id, state, reportId } = record;
    ctx.body = { id, state, reportId };
  });
  router.get("/health", async (ctx) => {
    const { ready } = await receiver.health();
    ctx.status = ready ? 200 : 503;
    ctx.body = { ready };
  });
  const app = new Koa();
  app.use(router.routes());
  return app;
}
