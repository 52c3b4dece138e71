import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { createClient, createReceiver, memoryInbox, type Receiver } from "@reporthook/core";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import express5 from "express";
import { Hono, type MiddlewareHandler } from "hono";
import Koa3 from "koa";
import mount from "koa-mount";
import request from "supertest";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { express4, Koa2 } from "./hosts/frameworks.ts";
import { listen, raw, served } from "./hosts/mount.ts";

const path = "/webhooks/reports";
let emulator: Emulator;
let receiver: Receiver;

beforeEach(() => {
  emulator = createEmulator();
  receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    inbox: memoryInbox(),
    logger: false,
    limits: { bodyBytes: 200 },
  });
});

afterEach(async () => {
  await receiver.close();
  await emulator.close();
});

const never = (): never => {
  throw new Error("next was called");
};

describe.each([
  ["Express 5", express5],
  ["Express 4", express4],
])("%s", (_name, express) => {
  test("the Express adapter calls no next", async () => {
    const app = express().use(path, toExpress(receiver), never);
    const { headers, body } = emulator.notification("report");
    await request(app).post(path).set(headers).send(body).expect(200);
    await request(app).post(`${path}/deeper`).set(headers).send("").expect(200);
    await request(app).get(path).expect(405).expect("allow", "POST");
  });
});

describe.each([
  ["Koa 3", Koa3],
  ["Koa 2", Koa2],
])("%s", (_name, Koa) => {
  test("an outer Koa middleware sees status, headers and body, and may add to them", async () => {
    const seen: unknown[] = [];
    const app = new Koa();
    app.use(async (ctx, next) => {
      await next();
      const { "content-type": type, "content-length": length } = ctx.response.headers;
      seen.push([
        ctx.status,
        type,
        Number(length) === ctx.length,
        JSON.parse(String(ctx.body)).code,
      ]);
      ctx.set("X-Outer", "yes");
    });
    app.use(mount(path, toKoa(receiver)));
    app.use(never);
    const answer = await request(app.callback()).post(path).send("[]").expect(415);
    expect(answer.headers["x-outer"]).toBe("yes");
    expect(seen).toEqual([[415, "application/problem+json", true, "unsupported_media_type"]]);
  });

  test("an outer Koa middleware sees the status when the connection is to be closed", async () => {
    const seen: unknown[] = [];
    const app = new Koa();
    app.use(async (ctx, next) => {
      await next();
      seen.push([ctx.status, ctx.response.get("connection"), ctx.length]);
    });
    app.use(toKoa(receiver));
    const { url, close } = await listen(app.callback(), path);
    const answer = await raw(
      url,
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n${"x".repeat(1_000)}`,
    );
    await close();
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1.1 413 /);
    expect(seen).toEqual([[413, "close", body.length]]);
  });
});

describe("Hono", () => {
  test("waitUntil() of the platform keeps the instance until the delivery is handled", async () => {
    const handled: string[] = [];
    receiver.on("report", (event) => {
      handled.push(event.id);
    });
    const kept: Promise<unknown>[] = [];
    const platform = {
      props: {},
      passThroughOnException() {},
      waitUntil(promise: Promise<unknown>) {
        expect(this).toBe(platform);
        kept.push(promise);
      },
    };
    const app = new Hono().post(path, toHono(receiver));
    // Other platforms may have bindings of these names.
    const bindings = { incoming: { send() {} }, outgoing: { send() {} } };
    const answer = await app.request(path, emulator.notification("report"), bindings, platform);
    const { id } = (await answer.json()) as { id: string };
    expect(kept).toHaveLength(1);
    await kept[0];
    expect(handled).toEqual([id]);
  });

  test.each(["json", "text", "arrayBuffer", "blob"] as const)(
    "an earlier c.req.%s() keeps the body",
    async (read) => {
      const app = new Hono();
      app.use(async (c, next) => {
        await c.req[read]();
        await next();
      });
      app.post(path, toHono(receiver));
      const sent = emulator.notification("report.complete", {
        body: '{"status":"complete","n":1.0}',
      });
      const answer = await app.request(path, sent);
      const { id } = (await answer.json()) as { id: string };
      expect((await receiver.inbox.get(id))?.body).toBe(sent.body);
      expect(await (await app.request(path, sent)).json()).toEqual({ status: "duplicate", id });
    },
  );

  test.each<[string, MiddlewareHandler]>([
    [
      "an answer beside a next() that is not awaited",
      async (c, next) => {
        void next();
        return c.text("first");
      },
    ],
    [
      "an answer ahead",
      async (c, next) => {
        c.res = c.text("first");
        await next();
      },
    ],
    ["the failure of Hono where a next() is not returned", async (_c, next) => void next()],
  ])("a receiver warns that its answer reached nobody: %s", async (_what, ahead) => {
    await receiver.close();
    const lines: string[] = [];
    const client = createClient(emulator.clientOptions);
    const logger = { warn: (_: object, message: string) => lines.push(message), error: () => {} };
    receiver = createReceiver({ client, inbox: memoryInbox(), logger });
    const app = new Hono().use(ahead).post(path, toHono(receiver));
    app.onError((_error, c) => c.text("failed", 500));
    const { url, close } = await served(createAdaptorServer(app) as Server, path);
    const { headers, body } = emulator.notification("report.complete");
    expect(await (await fetch(url, { method: "POST", headers, body })).text()).toMatch(
      /first|failed/,
    );
    await expect
      .poll(() => lines)
      .toContainEqual(expect.stringMatching(/^Answer lost: something else/));
    await close();
  });

  test("the Hono adapter calls no next, and other methods on a route are answered by Hono", async () => {
    const app = new Hono().post(path, toHono(receiver), never);
    expect((await app.request(path, emulator.notification("report"))).status).toBe(200);
    expect((await app.request(path)).status).toBe(404);
  });
});
