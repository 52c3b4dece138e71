import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import {
  createClient,
  createReceiver,
  memoryInbox,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { telemetry } from "@reporthook/opentelemetry";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTracing, type Tracing } from "./tracing.ts";

const apiKey = "a-key-that-nobody-may-see";
const report = { domains: ["example.com"] };
let tracing: Tracing;
let receiver: Receiver;
const emulator = createEmulator({ apiKey, deliver: (request) => receiver.fetch(request) });
let baseUrl = "";

beforeAll(async () => {
  tracing = startTracing();
  baseUrl = (await emulator.listen()).url;
});
afterAll(async () => {
  await tracing.stop();
  await emulator.close();
});
beforeEach(() => {
  tracing.reset();
  emulator.reset();
});
afterEach(() => receiver.close());

const observed = () => telemetry({ tracer: tracing.tracer("test") });

function open(options: Partial<ReceiverOptions>): void {
  receiver = createReceiver({
    client: createClient({ baseUrl, apiKey }),
    inbox: memoryInbox(),
    callback: { secrets: ["0123456789abcdef0123456789abcdef"], url: "https://app.example/hook" },
    name: "asking",
    logger: false,
    ...patient,
    ...options,
  });
  receiver.on("*", () => {});
}

/** Asks for a report as an app does that traces its own work. */
const ask = (options: { idempotencyKey?: string; overdueMs?: number } = {}) =>
  tracing
    .tracer("app")
    .startActiveSpan("order", (span) =>
      receiver.reports.request(report, options).finally(() => span.end()),
    );

function idOf(span: ReadableSpan | undefined): string | undefined {
  return span?.spanContext().spanId;
}

test("a request for a report is a span within the caller's, and the handler is linked to it, in another process too", async () => {
  const path = temporaryPath();
  const inbox = () => sqliteInbox(path);
  open({ ...observed(), inbox: inbox(), autostart: false });
  const { id } = await ask();
  await receiver.close();
  open({ ...observed(), inbox: inbox() });
  emulator.reports.setStatus(emulator.reports.list()[0]?.id ?? "", "complete");
  await receiver.reports.wait(id);
  await receiver.idle({ timeoutMs: 60_000 });

  const [order, request, sent] = [
    tracing.named("order"),
    tracing.named("request asking"),
    tracing.named("POST"),
  ].flat();
  expect(request?.kind).toBe(SpanKind.CLIENT);
  expect(request?.parentSpanContext?.spanId).toBe(idOf(order));
  expect(sent?.parentSpanContext?.spanId).toBe(idOf(request));
  expect(request?.attributes).toMatchObject({
    "messaging.destination.name": "asking",
    "messaging.operation.name": "request",
    "messaging.message.conversation_id": id,
  });
  const [handled] = tracing.named("process asking");
  const { "messaging.message.id": delivery } = handled?.attributes ?? {};
  const [receive] = tracing
    .named("receive asking")
    .filter(({ attributes }) => attributes["messaging.message.id"] === delivery);
  expect(handled?.links.map((link) => link.context.spanId)).toEqual([idOf(receive), idOf(request)]);
  expect(handled?.links[1]?.context.traceId).toBe(order?.spanContext().traceId);
  expect(handled?.attributes["messaging.message.conversation_id"]).toBe(id);
  await receiver.close();
});

test("a request that is repeated sends nothing, and the handler of its end is linked to the first", async () => {
  open(observed());
  const { id } = await ask({ idempotencyKey: "k", overdueMs: 1 });
  expect((await ask({ idempotencyKey: "k" })).id).toBe(id);
  await receiver.start();
  await receiver.idle({ timeoutMs: 60_000 });
  const requests = tracing.named("request asking");
  const ids = requests.map(({ attributes }) => attributes["messaging.message.conversation_id"]);
  expect(ids).toEqual([id, id]);
  expect(tracing.named("POST")).toHaveLength(1);
  const [overdue] = tracing.named("process asking");
  expect(overdue?.links.map((link) => link.context.spanId)).toEqual([idOf(requests[0])]);
});

test("a request that fails says so with its id, and without the token of its callback URL", async () => {
  const requestReport = async ({ webhook_url: url }: { readonly webhook_url?: string }) => {
    throw new TypeError(`no way to ${url}`);
  };
  open({ ...observed(), client: { authorize: async () => "valid", requestReport } });
  const error = await ask().catch((thrown: { readonly requestId: string }) => thrown);
  const [request] = tracing.named("request asking");
  expect(request?.status.code).toBe(SpanStatusCode.ERROR);
  expect(request?.status.message).toMatch(/^TypeError: no way to .*callback_token=\[removed\]$/);
  expect(request?.attributes).toMatchObject({
    "error.type": "TypeError",
    "messaging.message.conversation_id": "requestId" in error ? error.requestId : "none",
  });
});

test.each([
  ["nobody observes", () => ({}), ask],
  ["no SDK is set up", telemetry, () => receiver.reports.request(report)],
])("nothing is stored of a trace where %s", async (_, options, request) => {
  const inbox = memoryInbox();
  open({ ...options(), inbox });
  const { id } = await request();
  expect(JSON.stringify(await inbox.requests?.get(id))).not.toContain("trace");
});
