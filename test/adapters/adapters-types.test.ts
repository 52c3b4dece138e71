import { createServer } from "node:http";
import Router from "@koa/router";
import {
  type CallbackOptions,
  type Client,
  createReceiver,
  DoNotRetry,
  type Handler as EventHandler,
  type EventName,
  type EventOf,
  memoryInbox,
  type Parse,
  type Receiver,
  type ReportStatus,
  type RequestRecord,
  type Schema,
} from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import express, { type RequestHandler } from "express";
import express4, { type RequestHandler as RequestHandler4 } from "express4";
import { type Handler, Hono, type MiddlewareHandler } from "hono";
import Koa, { type Middleware } from "koa";
import koaBodyParser from "koa-bodyparser";
import mount from "koa-mount";
import Koa2, { type Middleware as Middleware2 } from "koa2";
import { afterEach, expect, expectTypeOf, test } from "vitest";

const client: Pick<Client, "authorize"> = { authorize: async () => "valid" };

const made: Pick<Receiver, "close">[] = [];

afterEach(async () => {
  for (const receiver of made.splice(0)) await receiver.close();
});

function make(): Receiver {
  const receiver = createReceiver({
    client,
    inbox: memoryInbox(),
    autostart: false,
    logger: false,
  });
  made.push(receiver);
  return receiver;
}

test("the Express adapter is a handler by the types of Express 5", () => {
  const handler = toExpress(make());
  expectTypeOf(handler).toExtend<RequestHandler>();
  const app = express();
  app.post("/a", handler);
  app.all("/b/:id", handler);
  app.use("/c", handler);
  app.use(handler);
  app.use("/d", express.Router().post("/e", handler));
  app.post("/f", express.raw({ type: "*/*" }), handler);
  expect(app).toBeTypeOf("function");
});

test("the Express adapter is a handler by the types of Express 4", () => {
  const handler = toExpress(make());
  expectTypeOf(handler).toExtend<RequestHandler4>();
  const app = express4();
  app.post("/a", handler);
  app.all("/b/:id", handler);
  app.use("/c", handler);
  app.use(handler);
  app.use("/d", express4.Router().post("/e", handler));
  app.post("/f", express4.raw({ type: "*/*" }), handler);
  expect(app).toBeTypeOf("function");
});

test("the Koa adapter is middleware by the types of Koa 3, @koa/router and koa-mount", () => {
  const handler = toKoa(make());
  expectTypeOf(handler).toExtend<Middleware>();
  const app = new Koa<{ user: string }>();
  app.use(handler);
  app.use(koaBodyParser()).use(mount("/a", handler));
  app.use(new Router().post("/b", handler).routes());
  app.use(new Router<{ user: string }>({ prefix: "/c" }).all("/d/:id", handler).routes());
  expect(app.middleware).toHaveLength(5);
});

test("the Koa adapter is middleware by the types of Koa 2", () => {
  const handler = toKoa(make());
  expectTypeOf(handler).toExtend<Middleware2>();
  const app = new Koa2<{ user: string }>();
  app.use(handler);
  expect(app.middleware).toHaveLength(1);
});

test("the Hono adapter is a handler by Hono's own types", () => {
  const handler = toHono(make());
  expectTypeOf(handler).toExtend<Handler>();
  expectTypeOf(handler).toExtend<MiddlewareHandler>();
  const app = new Hono<{ Bindings: { KEY: string }; Variables: { user: string } }>();
  app.post("/a", handler);
  app.all("/b/:id", handler).use("/c/*", handler);
  app.route("/d", new Hono().post("/e", handler));
  app.on(["POST"], "/f", handler);
  expect(app.routes).toHaveLength(5);
});

test("the Node handler is a listener by Node's own types", () => {
  expect(createServer(nodeHandler(make())).listening).toBe(false);
});

test("the adapters take a receiver with schemas", () => {
  const schema: Schema<{ readonly report_id: string }> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => ({ value: value as { report_id: string } }),
    },
  };
  const receiver = createReceiver({
    client,
    inbox: memoryInbox(),
    autostart: false,
    schemas: { "report.complete": schema },
  });
  made.push(receiver);
  receiver.on("report.complete", (event) => {
    expectTypeOf(event.body).toEqualTypeOf<{ readonly report_id: string }>();
    // @ts-expect-error the schema's output has no such field
    event.body.other;
  });
  receiver.on("report.processing", (event) => {
    expectTypeOf(event.body).toEqualTypeOf<Readonly<Record<string, unknown>>>();
  });
  receiver.on("*", (event) => {
    if (event.type === "report.complete") expectTypeOf(event.body.report_id).toBeString();
  });
  for (const mountOn of [toExpress, toKoa, toHono])
    expect(mountOn(receiver)).toBeTypeOf("function");
});

test("on() gives the handler the event of its name", () => {
  const receiver = make()
    .on("test_webhook_endpoint", (event) => {
      expectTypeOf(event.type).toEqualTypeOf<"test_webhook_endpoint">();
      expectTypeOf(event.payload).toBeString();
      // @ts-expect-error a test has no report
      event.reportId;
    })
    .on("report.complete", (event, { signal, attempt }) => {
      expectTypeOf(event).toEqualTypeOf<EventOf<"report.complete">>();
      expectTypeOf(event.status).toEqualTypeOf<"complete">();
      expectTypeOf(event.reportId).toEqualTypeOf<string | null>();
      expectTypeOf(event.receivedAt).toEqualTypeOf<Date>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      expectTypeOf(attempt).toBeNumber();
      // @ts-expect-error a report has no payload of a test
      event.payload;
    })
    .on(["report.complete", "report.internal_error"], async (event) => {
      expectTypeOf(event.status).toEqualTypeOf<"complete" | "internal_error">();
    })
    .on("report", (event) => {
      expectTypeOf(event.status).toEqualTypeOf<"processing" | "complete" | "internal_error">();
    })
    .on("*", (event) => {
      if (event.type === "test_webhook_endpoint") expectTypeOf(event.payload).toBeString();
      if (event.type === "report.complete") expectTypeOf(event.status).toEqualTypeOf<"complete">();
    });
  expectTypeOf(receiver).toEqualTypeOf<Receiver>();
});

test("the type of the callback URLs' context is that of event.context", () => {
  const secrets = ["0123456789abcdef0123456789abcdef"];
  type Context = { readonly customer: string };
  const named = createReceiver<Context>({ client, inbox: memoryInbox(), callback: { secrets } });
  const callback: CallbackOptions<Context> = { secrets };
  const schema: Schema<string> = {
    "~standard": { version: 1, vendor: "test", validate: () => ({ value: "x" }) },
  };
  const schemas = { "report.complete": schema };
  const inferred = createReceiver({ client, inbox: memoryInbox(), callback, schemas });
  made.push(named, inferred);
  named.on("report", (event) => {
    expectTypeOf(event.context).toEqualTypeOf<Context | undefined>();
  });
  inferred.on("report.complete", (event) => {
    expectTypeOf(event.context).toEqualTypeOf<Context | undefined>();
    expectTypeOf(event.body).toBeString();
  });
  make().on("report", (event) => {
    expectTypeOf(event.context).toBeUnknown();
  });
  const handler: EventHandler<"report.complete", Context> = ({ context }) => {
    expectTypeOf(context).toEqualTypeOf<Context | undefined>();
  };
  named.on("report.complete", handler);
  // @ts-expect-error another context
  void named.callbackUrl("https://app.example", { context: { customer: 5 } });
  // @ts-expect-error another context
  void inferred.callbackUrl("https://app.example", { context: "c-1" });
  for (const mountOn of [toExpress, toKoa, toHono]) expect(mountOn(named)).toBeTypeOf("function");
});

test("callback.require gives every report a context, and callbackUrl() asks for one", () => {
  type Context = { readonly customer: string };
  const secrets = ["0123456789abcdef0123456789abcdef"];
  const base = "https://app.example";
  const required = { secrets, require: true } as const;
  const named = createReceiver<Context>({ client, inbox: memoryInbox(), callback: required });
  const typed: CallbackOptions<Context> = { secrets };
  const callback = { ...typed, require: true } as const;
  const inferred = createReceiver({ client, inbox: memoryInbox(), callback, schemas: {} });
  const lax = createReceiver<Context | undefined>({
    client,
    inbox: memoryInbox(),
    callback: { secrets, require: true },
  });
  const unnamed = createReceiver({ client, inbox: memoryInbox(), callback: required });
  made.push(named, inferred, lax, unnamed);
  for (const receiver of [named, inferred]) {
    receiver.on("report", (event) => {
      expectTypeOf(event.context).toEqualTypeOf<Context>();
      if (event.type === "report.complete") expectTypeOf(event.status).toEqualTypeOf<"complete">();
    });
    receiver.on("*", (event) => {
      expectTypeOf(event.context).toEqualTypeOf<Context | undefined>();
      if (event.type === "report.processing") {
        expectTypeOf(event.context).toEqualTypeOf<Context>();
      }
    });
    receiver.on("report.overdue", ({ context }) => {
      expectTypeOf(context).toEqualTypeOf<Context>();
    });
    receiver.on(["test_webhook_endpoint", "unknown"], ({ context }) => {
      expectTypeOf(context).toEqualTypeOf<Context | undefined>();
    });
    void receiver.callbackUrl(base, { context: { customer: "c-1" } }).catch(() => {});
    // @ts-expect-error no context
    void receiver.callbackUrl(base);
    // @ts-expect-error no context
    void receiver.callbackUrl(base, { context: undefined });
  }
  const report = { domains: ["example.com"] };
  for (const { reports } of [named, inferred]) {
    const asked = [
      reports.request(report, { context: { customer: "c-1" }, idempotencyKey: "k" }),
      // @ts-expect-error no context
      reports.request(report),
      // @ts-expect-error no context
      reports.request(report, { idempotencyKey: "k" }),
      // @ts-expect-error another context
      reports.request(report, { context: { customer: 5 } }),
    ];
    for (const one of asked) one.catch(() => {});
  }
  lax.on("report", ({ context }) => {
    expectTypeOf(context).toEqualTypeOf<Context | undefined>();
  });
  lax.reports.request(report).catch(() => {});
  void lax.callbackUrl(base);
  void unnamed.callbackUrl(base);
  const handler: EventHandler<"report.complete", Context> = () => {};
  named.on("report.complete", handler);
  const same: Receiver<Context> = named;
  expect(same).toBe(named);
  for (const mountOn of [toExpress, toKoa, toHono]) expect(mountOn(named)).toBeTypeOf("function");
});

test("the events of a request, its record and its answer have the types of their receiver", () => {
  type Context = { readonly customer: string };
  const receiver = createReceiver<Context>({ client, inbox: memoryInbox(), autostart: false });
  made.push(receiver);
  const { reports } = receiver;
  receiver.on("report", (event) => {
    expectTypeOf(event.requestId).toEqualTypeOf<string | null>();
    expectTypeOf<typeof event.type>().not.toExtend<"report.overdue">();
  });
  receiver.on("report.overdue", (event) => {
    expectTypeOf(event).toEqualTypeOf<EventOf<"report.overdue", Context>>();
    expectTypeOf(event.context).toEqualTypeOf<Context | undefined>();
    expectTypeOf(event.requestId).toBeString();
    expectTypeOf(event.confirmed).toBeBoolean();
    expectTypeOf(event.lastStatus).toEqualTypeOf<"processing" | null>();
    expectTypeOf([event.requestedAt, event.dueAt]).toEqualTypeOf<Date[]>();
    // @ts-expect-error no notification brought it
    event.status;
  });
  receiver.on("*", (event) => {
    if (event.type === "report.overdue") expectTypeOf(event.lastStatus).not.toBeUndefined();
    // @ts-expect-error a test is of no request
    event.requestId;
  });
  expectTypeOf(reports.get).returns.resolves.toEqualTypeOf<RequestRecord<Context> | null>();
  expectTypeOf(reports.wait).returns.resolves.toEqualTypeOf<RequestRecord<Context>>();
  expectTypeOf(reports.request).returns.resolves.toHaveProperty("id").toBeString();
  // @ts-expect-error no final status
  reports.settle("id", "processing").catch(() => {});
  // @ts-expect-error another context
  reports.request({ domains: ["example.com"] }, { context: "c-1" }).catch(() => {});
});

test("a handler for more than its names is taken, a handler for less or for another schema is not", () => {
  const receiver = make();
  const all: EventHandler = () => {};
  const ofReports = (_event: EventOf<"report">): void => {};
  const names: readonly EventName[] = ["report.complete", "unknown"];
  receiver.on("report.complete", all).on(names, all);
  receiver.on(["report.complete", "report.internal_error"], ofReports);
  // @ts-expect-error a test is no report
  receiver.on("*", ofReports);
  type Dated = { readonly "report.complete": Schema<Date> };
  const dated: EventHandler<"report.complete", unknown, Dated> = ({ body }) => void body.getTime();
  // @ts-expect-error no schema makes a date of the body
  receiver.on("report.complete", dated);
  const schema: Schema<Date> = {
    "~standard": { version: 1, vendor: "test", validate: () => ({ value: new Date() }) },
  };
  const options = {
    client,
    autostart: false,
    logger: false as const,
    schemas: { "report.complete": schema },
  };
  // @ts-expect-error whoever names the context names the schemas, too
  made.push(createReceiver<{ customer: string }>(options));
  made.push(createReceiver<{ customer: string }, Dated>({ ...options, name: "dated" }));
});

test("an option that is undefined is left out", () => {
  const none = undefined;
  const receiver = createReceiver({ client, inbox: none, logger: none, name: none, limits: none });
  made.push(receiver);
  const listing = receiver.inbox.list({ after: none, state: none });
  return expect(listing).resolves.toEqual([]);
});

test("an error that is not for giving up keeps its type", () => {
  const messageOf = (error: Error): string => (DoNotRetry.is(error) ? "given up" : error.message);
  expect([messageOf(new DoNotRetry("x")), messageOf(new Error("y"))]).toEqual(["given up", "y"]);
});

test("the option parse may return each kind of notification, by type", () => {
  const parses: Parse[] = [
    () => ({ type: "report", status: "complete" }),
    () => ({ type: "report.complete", reportId: "r-1" }),
    () => null,
    // @ts-expect-error which report, says its status
    () => ({ type: "report" }),
    ({ body }) => {
      const status: ReportStatus = body["failed"] === true ? "internal_error" : "complete";
      return { type: `report.${status}` as const, status, reportId: undefined };
    },
  ];
  expect(parses.length).toBe(5);
});

test("on() refuses unknown names, by type and when called", () => {
  const receiver = make();
  // @ts-expect-error no such event
  expect(() => receiver.on("report.completed", () => {})).toThrow(TypeError);
  // @ts-expect-error one of them is no event
  expect(() => receiver.on(["report.complete", "reports"], () => {})).toThrow(TypeError);
  // @ts-expect-error a handler is needed
  expect(() => receiver.on("report")).toThrow(TypeError);
});

test("the adapters refuse a value that is no receiver", () => {
  for (const mountOn of [toExpress, toKoa, toHono]) {
    // @ts-expect-error no receiver
    expect(() => mountOn({})).toThrow(TypeError);
  }
});
