import { reporthook } from "@reporthook/express";
import compression from "compression";
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import session from "express-session";
import helmet from "helmet";
import request from "supertest";
import { expect, test } from "vitest";
import { existingApp, type Order, pageOfManyWords } from "./hosts/existing-app.ts";

declare module "express-session" {
  interface SessionData {
    user: string;
  }
}

const signedIn: RequestHandler = (req, res, next) => {
  if (req.session.user === undefined) res.status(401).json({ error: "sign in first" });
  else next();
};

const failed: ErrorRequestHandler = (error, _req, res, _next) => {
  const status = typeof error.status === "number" ? error.status : 500;
  res.status(status).json({ error: status === 500 ? "failed" : error.message });
};

/** An application as it may have stood for years; `mountWebhook` is all that is new. */
function shop(mountWebhook: (app: express.Express) => void): express.Express {
  const orders: Order[] = [];
  const app = express();
  app.set("trust proxy", 1);
  app.use(helmet());
  app.use(compression());
  app.use(rateLimit({ windowMs: 60_000, limit: 200, standardHeaders: true, legacyHeaders: false }));
  app.use(session({ secret: "not a secret", resave: false, saveUninitialized: false }));
  app.use(express.json());
  app.use(express.urlencoded({ extended: false }));

  app.get("/", (_req, res) => void res.send(pageOfManyWords));
  app.post("/login", (req, res) => {
    req.session.user = String(req.body.user);
    res.redirect(303, "/orders");
  });

  const api = express.Router();
  api.use(signedIn);
  api.get("/", (_req, res) => void res.json(orders));
  api.post("/", (req, res) => {
    const order = { id: orders.length + 1, item: String(req.body.item) };
    orders.push(order);
    res.status(201).json(order);
  });
  api.get("/broken", async () => {
    throw new Error("the database is away");
  });
  app.use("/orders", api);

  const webhooks = express.Router();
  webhooks.post("/payments", (req, res) => void res.json({ received: req.body.event }));
  app.use("/webhooks", webhooks);

  mountWebhook(app);

  app.use((_req, res) => void res.status(404).json({ error: "not found" }));
  app.use(failed);
  return app;
}

const app = existingApp((receiver) =>
  shop((existing) => {
    existing.post("/webhooks/reports", reporthook(receiver));
  }).listen(0, "127.0.0.1"),
);

test("a genuine notification is acknowledged and handled, its duplicate only acknowledged", async () => {
  const genuine = app.emulator.notification("report.complete", { reportId: "größe-1" });
  const first = await app.deliver(genuine).expect(200).expect("content-type", "application/json");
  expect(first.body).toEqual({ status: "accepted", id: expect.any(String) });
  expect(first.headers).toMatchObject({ "x-content-type-options": "nosniff" });
  expect(first.headers["set-cookie"]).toBeUndefined();
  const second = await app.deliver(genuine).expect(200);
  expect(second.body).toEqual({ status: "duplicate", id: first.body.id });
  await app.receiver.idle({ timeoutMs: 60_000 });
  expect(app.completed).toEqual(["größe-1"]);
});

test("a request is answered by the receiver or the global parser, the one that refuses it", async () => {
  const nothing = await app
    .deliver(app.emulator.notification("unknown", { signature: "none", body: "[]" }))
    .expect(400);
  expect(nothing.body).toMatchObject({ status: 400, code: "invalid_json" });
  const half = await app
    .deliver(app.emulator.notification("report", { body: '{"status":' }))
    .expect(400);
  expect(half.body).toEqual({ error: expect.stringContaining("JSON") });
});

test("the other routes of an Express app work as they did", async () => {
  const page = await request(app.server).get("/").expect(200).expect("content-encoding", "gzip");
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
  await request(app.server).get("/webhooks/reports").expect(404, { error: "not found" });
  await request(app.server).post("/webhooks/reports/more").expect(404, { error: "not found" });
});
