import { SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { createClient, createReceiver, memoryInbox, type ReceiverOptions } from "@reporthook/core";
import { createEmulator, type NotificationOptions } from "@reporthook/emulator";
import { telemetry } from "@reporthook/opentelemetry";
import { patient } from "@reporthook/test-support/patient";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { served } from "../adapters/hosts/mount.ts";
import { mounts, post } from "../security/secrets/receivers.ts";
import { startTracing, type Tracing } from "./tracing.ts";

const sender = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const traceparent = `00-${sender.traceId}-${sender.spanId}-01`;

const apiKey = "a-key-that-nobody-may-see";
const emulator = createEmulator({ apiKey });
let serviceUrl = "";
let tracing: Tracing;

beforeAll(async () => {
  tracing = startTracing();
  serviceUrl = (await emulator.listen()).url;
});
afterAll(async () => {
  await tracing.stop();
  await emulator.close();
});
beforeEach(() => tracing.reset());

/** A receiver with telemetry behind a port, and what a notification is answered there. */
async function scene(mount: string, options: Partial<ReceiverOptions> = {}) {
  const receiver = createReceiver({
    client: createClient({ baseUrl: serviceUrl, apiKey }),
    ...(options.ack !== "handled" && { inbox: memoryInbox() }),
    name: "mounted",
    logger: false,
    retry: { attempts: 1 },
    ...patient,
    ...options,
    ...telemetry({ tracer: tracing.tracer("test") }),
  });
  const serve = mounts[mount];
  if (serve === undefined) throw new Error(`There is no ${mount}`);
  const { url, close } = await served(serve(receiver), "/hook");
  onTestFinished(async () => {
    await close();
    await receiver.close();
  });
  const send = async (kind: NotificationOptions = {}): Promise<unknown> => {
    const { headers, body } = emulator.notification("report.complete", kind);
    const [status] = await post(url, { ...headers, traceparent }, body);
    return status;
  };
  return { receiver, send };
}

function named(name: string): ReadableSpan[] {
  return tracing.named(`${name} mounted`);
}

/** The relation of each span to the sender's: a child, or linked; and whether it failed. */
function told(): Record<string, string[]> {
  const of = ({ parentSpanContext, links, status }: ReadableSpan): string => {
    const isChild = parentSpanContext?.spanId === sender.spanId;
    const isLinked = links.some((link) => link.context.spanId === sender.spanId);
    const failed = status.code === SpanStatusCode.ERROR ? ", failed" : "";
    return `${isChild ? "child" : isLinked ? "linked" : "alone"}${failed}`;
  };
  const kinds = ["receive", "verify", "process"];
  return Object.fromEntries(kinds.map((kind) => [kind, named(kind).map(of)]));
}

test.each(Object.keys(mounts))("a delivery has its three spans on %s", async (mount) => {
  const { receiver, send } = await scene(mount);
  receiver.on("*", () => {});
  expect(await send()).toBe(200);
  await receiver.idle({ timeoutMs: 60_000 });
  expect(told()).toEqual({ receive: ["child"], verify: ["linked"], process: ["linked"] });
});

test("before-ack verifies within the request, and once, and the request tells what it refused", async () => {
  const { receiver, send } = await scene("node:http", { verify: "before-ack" });
  receiver.on("*", () => {});
  expect(await send()).toBe(200);
  await receiver.idle({ timeoutMs: 60_000 });
  expect(told()).toEqual({ receive: ["child"], verify: ["linked"], process: ["linked"] });
  const [receive] = named("receive");
  const [verify] = named("verify");
  expect(verify?.attributes["reporthook.verdict"]).toBe("valid");
  // Their order of export shows which ended first: their clocks differ by up to a millisecond.
  const ended = tracing.spans;
  expect(ended.indexOf(verify as ReadableSpan)).toBeLessThan(
    ended.indexOf(receive as ReadableSpan),
  );

  tracing.reset();
  expect(await send({ signature: "invalid" })).toBe(401);
  expect(told()).toEqual({ receive: ["child, failed"], verify: ["linked"], process: [] });
  expect(named("receive")[0]?.attributes["error.type"]).toBe("invalid_signature");
  expect(named("verify")[0]?.attributes["reporthook.verdict"]).toBe("invalid");
});

test("before-ack has one span for a call that was cut off, and another for the worker's", async () => {
  const { receiver, send } = await scene("node:http", {
    verify: "before-ack",
    limits: { verifyMs: 50 },
  });
  receiver.on("*", () => {});
  emulator.fault("authorize", { delayMs: 300, times: 1 });
  expect(await send()).toBe(200);
  await expect.poll(() => named("process").length).toBe(1);
  await expect.poll(() => named("verify").length).toBe(2);
  const verdicts = named("verify").map(({ attributes }) => attributes["reporthook.verdict"]);
  expect(verdicts.sort()).toEqual(["none", "valid"]);
});

test('ack: "handled" has the three spans before the answer, and a failure in two of them', async () => {
  const { receiver, send } = await scene("node:http", { ack: "handled" });
  let fail = false;
  receiver.on("*", () => {
    if (fail) throw new RangeError("not now");
  });
  expect(await send()).toBe(200);
  expect(told()).toEqual({ receive: ["child"], verify: ["linked"], process: ["linked"] });

  tracing.reset();
  fail = true;
  expect(await send()).toBe(503);
  expect(told()).toEqual({
    receive: ["child, failed"],
    verify: ["linked"],
    process: ["linked, failed"],
  });
  expect(named("receive")[0]?.attributes["error.type"]).toBe("not_handled");
  expect(named("process")[0]?.attributes["error.type"]).toBe("RangeError");
});
