import { diag, type Link, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, type ReadableSpan } from "@opentelemetry/sdk-trace-base";
import {
  type Client,
  createClient,
  createReceiver,
  DoNotRetry,
  incomingFromRequest,
  memoryInbox,
  type Receiver,
} from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { telemetry } from "@reporthook/opentelemetry";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { manualClock } from "@reporthook/testing/internals";
import { Headers } from "node-fetch";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { startTracing, type Tracing } from "./tracing.ts";

const apiKey = "a-key-that-nobody-may-see";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const sender = { traceId, spanId: "b7ad6b7169203331" };
const traceparent = `00-${sender.traceId}-${sender.spanId}-01`;

const exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({
  exporter: exported,
  exportIntervalMillis: 3_600_000,
  exportTimeoutMillis: 60_000,
});
const measuring = new MeterProvider({ readers: [reader] });
const emulator = createEmulator({ apiKey });
let client: Client;
let serviceUrl = "";
let tracing: Tracing;

beforeAll(async () => {
  tracing = startTracing();
  serviceUrl = (await emulator.listen()).url;
  client = createClient({ baseUrl: serviceUrl, apiKey });
});
afterAll(async () => {
  await measuring.shutdown();
  await tracing.stop();
  await emulator.close();
});
let receiver: Receiver;
beforeEach(() => tracing.reset());
afterEach(() => receiver?.close());

const telemetryHere = () =>
  telemetry({ tracer: tracing.tracer("test"), meter: measuring.getMeter("test") });

async function send(headers: Record<string, string> = {}, of = receiver): Promise<string> {
  const { body, ...notification } = emulator.notification("report.complete");
  const request = new Request("https://app.example/hook?callback_token=t", {
    method: "POST",
    body,
    headers: { ...notification.headers, ...headers },
  });
  const { id } = (await (await of.fetch(request)).json()) as { readonly id: string };
  return id;
}

function linked({ links }: ReadableSpan): object[] {
  return links.map(({ context: { traceId, spanId } }: Link) => ({ traceId, spanId }));
}

test("a delivery is a span to receive, one to verify and one for each attempt to handle it", async () => {
  receiver = createReceiver({
    client,
    name: "spans",
    logger: false,
    retry: { minMs: 1, maxMs: 1 },
    ...telemetryHere(),
  });
  const active: (string | undefined)[] = [];
  receiver.on("report.complete", (_event, { attempt }) => {
    active.push(trace.getActiveSpan()?.spanContext().spanId);
    if (attempt === 1) throw new RangeError(`not yet with ${apiKey}`);
  });
  const id = await send({ traceparent });
  await receiver.idle({ timeoutMs: 60_000 });

  const [receive] = tracing.named("receive spans");
  const [verify] = tracing.named("verify spans");
  const processed = tracing.named("process spans");
  expect(receive?.parentSpanContext).toMatchObject(sender);
  expect(receive?.attributes).toMatchObject({
    "messaging.system": "reporthook",
    "messaging.destination.name": "spans",
    "messaging.message.id": id,
    "reporthook.outcome": "accepted",
  });
  expect(verify?.attributes).toMatchObject({
    "reporthook.verdict": "valid",
    "reporthook.attempt": 1,
  });
  expect(
    processed.map((span) => [span.attributes["reporthook.attempt"], span.status.code]),
  ).toEqual([
    [1, SpanStatusCode.ERROR],
    [2, SpanStatusCode.UNSET],
  ]);
  expect(processed[0]?.attributes["error.type"]).toBe("RangeError");
  expect(processed[0]?.events[0]?.attributes).toMatchObject({
    "exception.message": "not yet with [api key]",
  });
  expect(JSON.stringify(processed.map(({ events, status }) => [events, status]))).not.toContain(
    apiKey,
  );
  expect(active).toEqual(processed.map((span) => span.spanContext().spanId));

  // Linked, not parented, to what the sender began.
  for (const span of [verify, ...processed]) {
    expect(span?.parentSpanContext).toBe(undefined);
    expect(span?.spanContext().traceId).not.toBe(traceId);
    expect(span && linked(span)).toEqual([sender]);
  }
  expect((await receiver.inbox.get(id))?.headers["traceparent"]).toBe(traceparent);
});

test("a request whose headers are of another realm is received, and linked", async () => {
  receiver = createReceiver({ client, name: "realm", logger: false, ...telemetryHere() });
  const { body, headers } = emulator.notification("report.complete");
  const request = new Request("https://app.example/hook", { method: "POST", body, headers });
  const foreign = new Headers(headers) as unknown as globalThis.Headers;
  const answer = await receiver.mount()({ ...incomingFromRequest(request), headers: foreign });
  expect(answer.status).toBe(200);
  await receiver.idle({ timeoutMs: 60_000 });
  const [receive] = tracing.named("receive realm");
  const [verify] = tracing.named("verify realm");
  expect(verify && linked(verify)).toMatchObject([{ spanId: receive?.spanContext().spanId }]);
});

test("the link outlives the process that acknowledged, also when the sender began no trace", async () => {
  const path = temporaryPath();
  const inbox = () => sqliteInbox(path);
  const options = { client, name: "later", logger: false as const, ...patient };
  const first = createReceiver({
    ...options,
    ...telemetryHere(),
    inbox: inbox(),
    autostart: false,
  });
  await send({}, first);
  await first.close();
  receiver = createReceiver({ ...options, ...telemetryHere(), inbox: inbox() });
  receiver.on("*", () => {});
  await receiver.start();
  await receiver.idle({ timeoutMs: 60_000 });

  const [receive] = tracing.named("receive later");
  const { traceId, spanId } = receive?.spanContext() ?? {};
  for (const name of ["verify later", "process later"]) {
    expect(tracing.named(name).map(linked)).toEqual([[{ traceId, spanId }]]);
  }
  await receiver.close();
});

test("a span shows the error of the option signature without the key", async () => {
  const signature = (): never => {
    throw new Error(`no secret at ${serviceUrl}/?api_key=${apiKey}`);
  };
  const options = { client, name: "function", logger: false as const, signature };
  receiver = createReceiver({ ...options, ...telemetryHere() });
  // The client takes out what it has used.
  await client.authorize("s").catch(() => {});
  const answer = await receiver.fetch(
    new Request("https://app.example/hook", emulator.notification("report")),
  );
  expect(answer.status).toBe(503);
  const [receive] = tracing.named("receive function");
  expect(receive?.status.message).toMatch(/option signature failed: .*\?api_key=\[api key\]$/);
});

test("the authorize call shows up without its key, though fetch itself is instrumented", async () => {
  receiver = createReceiver({ client, name: "key", logger: false, ...telemetryHere() });
  await send();
  await receiver.idle({ timeoutMs: 60_000 });
  emulator.fault("authorize", { status: 500, times: 1 });
  await send();
  await expect.poll(() => tracing.named("verify key").length).toBeGreaterThan(1);
  const seen = tracing.text();
  expect(seen).not.toContain(apiKey);
  expect(seen).not.toContain("callback_token");
  expect(tracing.named("POST")).toEqual([]);

  // Nor without the telemetry of ours; any other call with a key in its address would.
  await client.authorize("a signature");
  expect(tracing.text()).not.toContain(apiKey);
  await fetch(`${serviceUrl}/elsewhere?api_key=${apiKey}`);
  expect(tracing.text()).toContain(apiKey);
  emulator.reset();
  await receiver.idle({ timeoutMs: 60_000 });
});

test("a span says why there is no verdict, and not the signature", async () => {
  const repeats = async (signature: string): Promise<never> => {
    throw Object.assign(new Error(`no connection for ${signature}`), { code: `E-${signature}` });
  };
  receiver = createReceiver({
    client: { authorize: repeats },
    name: "own",
    logger: false,
    ...telemetryHere(),
  });
  const signature = "a-signature-of-some-length";
  await receiver.start();
  await send({ "X-svc-authorization": signature });
  await expect.poll(() => tracing.named("verify own").length).toBe(1);
  const [verify] = tracing.named("verify own");
  expect(verify?.attributes).toMatchObject({ "error.type": "Error", "reporthook.verdict": "none" });
  expect(verify?.status.message).toContain("no connection for");
  expect(tracing.text()).not.toContain(signature);
});

test("the metrics say what was acknowledged, judged, handled, and what waits", async () => {
  receiver = createReceiver({
    client,
    name: "metrics",
    logger: false,
    retry: { attempts: 1 },
    ...telemetryHere(),
    signature({ headers }) {
      if (headers["x-fails"] !== undefined) throw new Error("no");
      return headers["x-svc-authorization"];
    },
  });
  let fail = (): void => {};
  receiver.on("*", () => fail());
  const failures = [
    () => {},
    () => {
      throw new TypeError("no");
    },
    () => {
      throw undefined;
    },
  ];
  for (const failing of failures) {
    fail = failing;
    await send();
    await receiver.idle({ timeoutMs: 60_000 });
  }
  await receiver.fetch(new Request("https://app.example/hook"));
  const unsigned = emulator.notification("report.complete", { signature: "none" });
  await receiver.fetch(new Request("https://app.example/hook", unsigned));
  await send({ "X-fails": "yes" });

  expect(await points("reporthook.deliveries")).toEqual({
    "reporthook.outcome=accepted": 4,
    "reporthook.outcome=verified": 3,
    "reporthook.outcome=handled": 1,
    "reporthook.outcome=dead,reporthook.reason=attempts_used_up": 2,
    "reporthook.outcome=held,reporthook.reason=unsigned": 1,
    "reporthook.outcome=inbox_unavailable": 1,
    "reporthook.outcome=method_not_allowed": 1,
  });
  expect(await points("reporthook.acknowledge.duration")).toEqual({
    "reporthook.outcome=accepted": 4,
    "reporthook.outcome=method_not_allowed": 1,
    "reporthook.outcome=inbox_unavailable": 1,
  });
  expect(await points("reporthook.authorize.duration")).toEqual({ "reporthook.verdict=valid": 3 });
  expect(await points("messaging.process.duration")).toEqual({
    "messaging.operation.name=process": 1,
    "messaging.operation.name=process,error.type=TypeError": 1,
    "messaging.operation.name=process,error.type=_OTHER": 1,
  });
  expect(await points("reporthook.deliveries.waiting")).toEqual({
    "reporthook.state=received": 0,
    "reporthook.state=verified": 0,
  });
  expect(await points("reporthook.deliveries.oldest")).toEqual({ "": 0 });
});

test.each([null, 7, "tracer", { trace: 1 }])(
  "telemetry() throws a TypeError that names the option when it is given %j",
  (given) => {
    expect(() => telemetry(given as object)).toThrow(/^telemetry: (?:options|trace) /);
  },
);

test("the metrics count parked deliveries that retention deletes, by reason", async () => {
  const inbox = memoryInbox({ retention: { parkedMs: 2_000 } });
  const clock = manualClock();
  const given = { client, inbox, clock, name: "pruned", logger: false } as const;
  receiver = createReceiver({ ...given, ...telemetryHere() });
  receiver.on("*", () => {
    throw new DoNotRetry("never");
  });
  await send();
  await receiver.idle({ timeoutMs: 60_000 });
  for (const ms of [3_600_000, 60_000]) {
    clock.advance(ms);
    await receiver.inbox.list();
  }
  const deleted = await points("reporthook.deliveries.deleted", "pruned");
  expect(deleted).toEqual({ "reporthook.reason=do_not_retry": 1 });
});
test("the counts from before a receiver closed are exported after it", async () => {
  receiver = createReceiver({ client, name: "closed", logger: false, ...telemetryHere() });
  receiver.on("*", () => {});
  await send();
  await receiver.idle({ timeoutMs: 60_000 });
  await receiver.close();

  expect(await points("reporthook.deliveries", "closed")).toEqual({
    "reporthook.outcome=accepted": 1,
    "reporthook.outcome=verified": 1,
    "reporthook.outcome=handled": 1,
  });
});

test.each([
  ["of an id", `00-${"0".repeat(32)}-${sender.spanId}-01`],
  ["of a parent", `00-${traceId}-${"0".repeat(16)}-01`],
])("a traceparent of the sender with nothing but zeros %s is none", async (_, zeros) => {
  receiver = createReceiver({ client, name: "zeros", logger: false, ...telemetryHere() });
  await send({ traceparent: zeros });
  await receiver.idle({ timeoutMs: 60_000 });

  const [[receive], [verify]] = [tracing.named("receive zeros"), tracing.named("verify zeros")];
  expect(receive?.parentSpanContext).toBeUndefined();
  expect(verify && linked(verify)).toMatchObject([{ spanId: receive?.spanContext().spanId }]);
});

/** The values of a metric (of a histogram: how many) of one receiver, by their other attributes. */
async function points(name: string, of = "metrics"): Promise<Record<string, number>> {
  const { resourceMetrics } = await reader.collect();
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const metric = metrics.find(({ descriptor }) => descriptor.name === name);
  const found: Record<string, number> = {};
  for (const { attributes, value } of metric?.dataPoints ?? []) {
    const {
      "messaging.system": system,
      "messaging.destination.name": receiver,
      ...rest
    } = attributes;
    if (system !== "reporthook" || receiver !== of) continue;
    const key = Object.entries(rest).map(([attribute, of]) => `${attribute}=${of}`);
    found[key.join(",")] = typeof value === "number" ? value : value.count;
  }
  return found;
}

test("a delivery is parked as always when a handler throws something odd", async () => {
  receiver = createReceiver({
    client,
    name: "spans",
    logger: false,
    retry: { attempts: 1 },
    ...telemetryHere(),
  });
  const failing = (name: string) =>
    Object.defineProperty(new Error("x"), name, {
      get() {
        throw new Error("no");
      },
    });
  const thrown = [
    Object.assign(new Error("x"), { stack: null }),
    Object.assign(new Error("x"), { stack: [], message: {}, name: apiKey }),
    Object.assign(new Error("x"), { code: Object.create(null) }),
    Object.assign(new Error("x"), { code: `E_${apiKey}` }),
    failing("code"),
    failing("message"),
  ];
  const left = [...thrown];
  receiver.on("report.complete", () => {
    throw left.shift();
  });
  for (const _ of thrown) await send({});
  await receiver.idle({ timeoutMs: 60_000 });
  expect((await receiver.inbox.counts()).dead).toBe(thrown.length);
  const shown = tracing.named("process spans").map(({ events, status }) => [events, status]);
  expect(shown.length).toBe(thrown.length);
  expect(JSON.stringify(shown)).not.toContain(apiKey);
});

test.each(["onStart", "onEnd"])(
  "a span processor that throws in %s stops no work",
  async (hook) => {
    const fail = () => {
      throw new Error(`the processor fails with ${apiKey}`);
    };
    const nothing = {
      onStart() {},
      onEnd() {},
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    const failing = new BasicTracerProvider({ spanProcessors: [{ ...nothing, [hook]: fail }] });
    const lines: string[] = [];
    const line = (text: string) => void lines.push(text);
    const logger = { error: line, warn: line, info: line, debug: line, verbose: line };
    diag.setLogger(logger);
    onTestFinished(() => diag.disable());
    receiver = createReceiver({
      client,
      name: `throwing-${hook}`,
      logger: false,
      concurrency: { verify: 1, handle: 1 },
      ...telemetry({ tracer: failing.getTracer("test"), meter: measuring.getMeter("test") }),
    });
    let runs = 0;
    receiver.on("report.complete", () => void runs++);
    for (let sent = 0; sent < 3; sent++) await send();
    await receiver.idle();
    expect(runs).toBe(3);
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 3 });
    expect(lines.join()).toContain("a span or a metric is lost: Error: the processor fails");
    expect(lines.join()).not.toContain(apiKey);
  },
);
