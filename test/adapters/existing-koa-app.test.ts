import bodyParser from "@koa/bodyparser";
import cors from "@koa/cors";
import Router from "@koa/router";
import { reporthook } from "@reporthook/koa";
import Koa, { type Middleware } from "koa";
import compress from "koa-compress";
import helmet from "koa-helmet";
import session from "koa-session";
import request from "supertest";
import { expect, test } from "vitest";
import { existingApp, type Order, pageOfManyWords } from "./hosts/existing-app.ts";

const failuresAsJson: Middleware = async (ctx, next) => {
  try {
    await next();
    if (ctx.status === 404 && !ctx.body) ctx.throw(404, "not found");
  } catch (error) {
    const { status = 500, message } = error as { status?: number; message: string };
    ctx.status = status;
    ctx.body = { error: status === 500 ? "failed" : message };
  }
};

const timed: Middleware = async (ctx, next) => {
  const startedAt = performance.now();
  await next();
  ctx.set("X-Response-Time", `${Math.round(performance.now() - startedAt)}ms`);
};

const signedIn: Middleware = async (ctx, next) => {
  if (ctx["session"]?.["user"] === undefined) ctx.throw(401, "sign in first");
  await next();
};

/** An application as it may have stood for years; `mountWebhook` is all that is new. */
function shop(mountWebhook: (router: Router) => void): Koa {
  const orders: Order[] = [];
  const app = new Koa();
  app.keys = ["not a secret"];
  app.proxy = true;
  app.use(timed);
  app.use(failuresAsJson);
  app.use(helmet());
  app.use(cors({ origin: "https://shop.example", credentials: true }));
  app.use(compress({ threshold: 1_024 }));
  app.use(session({}, app));
  app.use(bodyParser());

  const router = new Router();
  router.get("/", (ctx) => {
    ctx.body = pageOfManyWords;
  });
  router.post("/login", (ctx) => {
    const { user } = ctx.request.body as { user: string };
    if (ctx["session"]) ctx["session"].user = user;
    ctx.redirect("/orders");
    ctx.status = 303;
  });

  const api = new Router({ prefix: "/orders" });
  api.use(signedIn);
  api.get("/", (ctx) => {
    ctx.body = orders;
  });
  api.post("/", (ctx) => {
    const { item } = ctx.request.body as { item: string };
    const order = { id: orders.length + 1, item };
    orders.push(order);
    ctx.status = 201;
    ctx.body = order;
  });
  api.get("/broken", async () => {
    throw new Error("the database is away");
  });

  router.post("/webhooks/payments", (ctx) => {
    ctx.body = { received: (ctx.request.body as { event: string }).event };
  });
  mountWebhook(router);

  app.use(router.routes()).use(router.allowedMethods());
  app.use(api.routes()).use(api.allowedMethods());
  return app;
}

const app = existingApp((receiver) =>
  shop((router) => {
    router.post("/webhooks/reports", reporthook(receiver));
  }).listen(0, "127.0.0.1"),
);

test("a genuine notification is acknowledged and handled, its duplicate only acknowledged", async () => {
  const genuine = app.emulator.notification("report.complete", { reportId: "größe-1" });
  const first = await app.deliver(genuine).expect(200).expect("content-type", "application/json");
  expect(first.body).toEqual({ status: "accepted", id: expect.any(String) });
  expect(first.headers).toMatchObject({
    "x-content-type-options": "nosniff",
    "x-response-time": expect.stringMatching(/^\d+ms$/),
  });
  expect(first.headers["set-cookie"]).toBeUndefined();
  const second = await app.deliver(genuine).expect(200);
  expect(second.body).toEqual({ status: "duplicate", id: first.body.id });
  await app.receiver.idle({ timeoutMs: 60_000 });
  expect(app.completed).toEqual(["größe-1"]);
});

test("a request is answered by the receiver or the parser, the one that refuses it", async () => {
  const text = app.emulator.notification("unknown", { signature: "none", body: "plain" });
  const refused = await app
    .deliver({ ...text, headers: { "content-type": "text/plain" } })
    .expect(415);
  expect(refused.body).toMatchObject({ status: 415, code: "unsupported_media_type" });
  const half = await app
    .deliver(app.emulator.notification("report", { body: '{"status":' }))
    .expect(400);
  expect(half.body).toEqual({ error: expect.any(String) });
});

test("the other routes of a Koa app work as they did", async () => {
  const page = await request(app.server).get("/").expect(200).expect("content-encoding", /./);
  expect(page.text).toBe(pageOfManyWords);

  await request(app.server).get("/orders").expect(401, { error: "sign in first" });
  const agent = request.agent(app.server);
  await agent.post("/login").type("form").send({ user: "ada" }).expect(303);
  await agent.post("/orders").send({ item: "report" }).expect(201, { id: 1, item: "report" });
  await agent.get("/orders").expect(200, [{ id: 1, item: "report" }]);
  await agent.get("/orders/broken").expect(500, { error: "failed" });

  const payment = { event: "paid" };
  await request(app.server)
    .post("/webhooks/payments")
    .send(payment)
    .expect(200, { received: "paid" });
  await request(app.server).get("/webhooks/reports").expect(405).expect("allow", "POST");
  await request(app.server).post("/webhooks/reports/more").expect(404, { error: "not found" });
});
