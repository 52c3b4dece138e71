import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { reporthook } from "@reporthook/hono";
import { Hono } from "hono";
import { hc } from "hono/client";
import { compress } from "hono/compress";
import { getSignedCookie, setSignedCookie } from "hono/cookie";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { timing } from "hono/timing";
import { validator } from "hono/validator";
import { expect, test } from "vitest";
import { existingApp, type Order, pageOfManyWords } from "./hosts/existing-app.ts";

const secret = "not a secret";
const signedIn = createMiddleware<{ Variables: { user: string } }>(async (c, next) => {
  const user = await getSignedCookie(c, secret, "user");
  if (!user) throw new HTTPException(401, { message: "sign in first" });
  c.set("user", user);
  await next();
});

const itemOf = validator("json", (value: unknown) => {
  const { item } = value as { item?: unknown };
  if (typeof item !== "string") throw new HTTPException(422, { message: "an order has an item" });
  return { item };
});

/** The routes that are called by type, as an RPC client sees them. */
function ordersApi() {
  const orders: Order[] = [];
  return new Hono()
    .use(signedIn)
    .get("/", (c) => c.json(orders))
    .post("/", itemOf, (c) => {
      const order: Order = { id: orders.length + 1, item: c.req.valid("json").item };
      orders.push(order);
      return c.json(order, 201);
    })
    .get("/broken", (c) => {
      if (orders.length > 0) throw new Error("the database is away");
      return c.json({});
    });
}

/** An application as it may have stood for years; `mountWebhook` is all that is new. */
function shop(mountWebhook: (app: Hono) => void) {
  const app = new Hono();
  app.use(requestId(), timing(), secureHeaders(), compress());
  app.use("/orders/*", cors({ origin: "https://shop.example", credentials: true }));
  app.use(async (c, next) => {
    // An audit log, which reads the body of every request that has one.
    if (c.req.method === "POST") audit.push((await c.req.text()).length);
    await next();
  });

  app.get("/", (c) => c.html(pageOfManyWords));
  app.post("/login", async (c) => {
    const { user } = await c.req.parseBody();
    await setSignedCookie(c, "user", String(user), secret);
    return c.redirect("/orders", 303);
  });
  app.post("/webhooks/payments", async (c) => {
    const { event } = await c.req.json();
    return c.json({ received: event });
  });
  mountWebhook(app);

  app.notFound((c) => c.json({ error: "not found" }, 404));
  app.onError((error, c) =>
    error instanceof HTTPException
      ? c.json({ error: error.message }, error.status)
      : c.json({ error: "failed" }, 500),
  );
  return app.route("/orders", ordersApi());
}

type Shop = ReturnType<typeof shop>;

let audit: number[];

const app = existingApp((receiver) => {
  audit = [];
  const { fetch } = shop((existing) => {
    existing.post("/webhooks/reports", reporthook(receiver));
  });
  return serve({ fetch, port: 0, hostname: "127.0.0.1" }) as Server;
});

test("a genuine notification is acknowledged and handled, its duplicate only acknowledged", async () => {
  const genuine = app.emulator.notification("report.complete", { reportId: "größe-1" });
  const first = await app.deliver(genuine);
  expect([first.status, first.body]).toEqual([200, { status: "accepted", id: expect.any(String) }]);
  for (const name of ["x-request-id", "server-timing", "x-content-type-options"]) {
    expect(first.headers[name], name).toBeTruthy();
  }
  const second = await app.deliver(genuine);
  expect(second.body).toEqual({ status: "duplicate", id: first.body.id });
  await app.receiver.idle({ timeoutMs: 60_000 });
  expect(app.completed).toEqual(["größe-1"]);
  expect(audit).toHaveLength(2);
});

test("the bytes of a notification are those that came, though the audit log has read them first", async () => {
  const sent = app.emulator.notification("report.complete", {
    body: '{"status":"complete","n":1.0}',
  });
  const { body } = await app.deliver(sent);
  expect((await app.receiver.inbox.get(body.id))?.body).toBe(sent.body);
  const refused = await app.deliver(
    app.emulator.notification("report", { signature: "none", body: "[]" }),
  );
  expect([refused.status, refused.body.code]).toEqual([400, "invalid_json"]);
});

test("the other routes of a Hono app work as they did, for the RPC client too", async () => {
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const page = await fetch(url);
  expect([page.headers.get("content-encoding"), await page.text()]).toEqual([
    "gzip",
    pageOfManyWords,
  ]);

  const form = new URLSearchParams({ user: "ada" });
  const login = await fetch(`${url}/login`, { method: "POST", body: form, redirect: "manual" });
  expect(login.status).toBe(303);
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  const { orders } = hc<Shop>(url, { headers: { cookie } });
  const made = await orders.$post({ json: { item: "report" } });
  expect([made.status, await made.json()]).toEqual([201, { id: 1, item: "report" }]);
  expect(await (await orders.$get()).json()).toEqual([{ id: 1, item: "report" }]);
  const broken = await orders.broken.$get();
  expect([broken.status, await broken.json()]).toEqual([500, { error: "failed" }]);
  expect((await hc<Shop>(url).orders.$get()).status).toBe(401);

  const payment = { method: "POST", body: '{"event":"paid"}' };
  const paid = await fetch(`${url}/webhooks/payments`, payment);
  expect(await paid.json()).toEqual({ received: "paid" });
  const other = await fetch(`${url}/webhooks/reports`);
  expect([other.status, await other.json()]).toEqual([404, { error: "not found" }]);
});
