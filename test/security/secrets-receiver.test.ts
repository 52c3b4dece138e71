import { createServer } from "node:http";
import {
  createClient,
  createReceiver,
  DoNotRetry,
  memoryInbox,
  type Observe,
  type ReceiverOptions,
} from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { dashboard } from "@reporthook/dashboard";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { served } from "../adapters/hosts/mount.ts";
import { startTracing, type Tracing } from "../telemetry/tracing.ts";
import { Canaries } from "./secrets/canaries.ts";
import { Output } from "./secrets/output.ts";
import { mounts, post } from "./secrets/receivers.ts";
import { failingFetches, failingServices } from "./secrets/services.ts";

const canaries = new Canaries();
const apiKey = canaries.plant("api key", "key+/='KeyCanary6hw2pd9v");
const secret = canaries.plant("callback secret", "CallbackSecretCanary-5n1c7r3t-0123");
let tracing: Tracing;
let emulator: Emulator;
let serviceUrl: string;
let services: Awaited<ReturnType<typeof failingServices>>;

beforeAll(async () => {
  services = await failingServices();
  emulator = createEmulator({ apiKey });
  serviceUrl = (await emulator.listen()).url;
  tracing = startTracing();
});
afterAll(async () => {
  await tracing.stop();
  await emulator.close();
  await services.close();
});

interface Case extends Partial<ReceiverOptions> {
  readonly store: "memory" | "sqlite";
  readonly mount?: string;
  /** Sent beside the usual ones. */
  readonly carry?: (signature: string) => { readonly query?: string; readonly body?: string };
}

/** Sends all kinds of notifications, has them handled and failed, and returns everything that shows of them. */
async function run(
  { store, mount = "node:http", carry, ...options }: Case,
  output = Output.capture(),
): Promise<string> {
  const inbox = store === "memory" ? memoryInbox() : sqliteInbox(temporaryPath());
  const hooks = ["acknowledged", "verified", "handled", "failed", "parked"] as const;
  const receiver = createReceiver({
    client: createClient({ baseUrl: serviceUrl, apiKey }),
    ...(options.ack !== "handled" && { inbox }),
    callback: { secrets: [secret] },
    observe: Object.fromEntries(hooks.map((hook) => [hook, output.add.bind(output)])) as Observe,
    retry: { attempts: 2, minMs: 1, maxMs: 2 },
    ...options,
  });
  receiver.on("*", async (event, context) => {
    output.add(event, context);
    if (event.type === "report.processing")
      throw new Error(`the handler is broken: ?api_key=${encodeURIComponent(apiKey)}`);
    if (event.type === "report.internal_error") throw new DoNotRetry(`no use of ${apiKey}`);
  });
  const serve = mounts[mount];
  if (serve === undefined) throw new Error(`There is no ${mount}`);
  const { url, close } = await served(serve(receiver), "/hook");
  onTestFinished(async () => {
    await close();
    await receiver.close({ timeoutMs: 0 });
  });

  const target = canaries.plantUrl(await receiver.callbackUrl(url, { context: { customer: 1 } }));
  const send = async (signature: string | null, body: string): Promise<void> => {
    if (signature !== null) canaries.plant("signature", signature);
    const { query = "", body: own = body } = signature === null ? {} : (carry?.(signature) ?? {});
    const headers = {
      "content-type": "application/json",
      ...(signature !== null && carry === undefined && { "x-svc-authorization": signature }),
    };
    output.add(...(await post(target + query, headers, own)));
  };
  const sent = [
    "test_webhook_endpoint",
    "report.processing",
    "report.complete",
    "unknown",
  ] as const;
  for (const name of [...sent, "report.internal_error"] as const) {
    for (const kind of ["valid", "invalid", "expired"] as const) {
      const { headers, body } = emulator.notification(name, { signature: kind });
      await send(headers["X-svc-authorization"] ?? "", body);
    }
  }
  await send("forged-SignatureCanary-0123456789", '{"status":"complete"}');
  await send("no-json-SignatureCanary-01234567", "no JSON");
  await send(null, '{"status":"complete"}');
  await receiver
    .idle({ timeoutMs: options.client ? 300 : 60_000 })
    .catch((error) => output.add(error));

  output.add(receiver, inbox, await receiver.health());
  if (options.ack !== "handled") {
    const shown = dashboard(receiver, { authorize: () => ({ name: "me", may: "act" }) });
    const pageOf = async (page: string): Promise<string> => {
      const answer = await shown(new Request(`http://localhost/inbox/api/${page}`));
      expect(answer.status).toBe(200);
      return await answer.text();
    };
    const liveOf = async (page: string): Promise<Uint8Array | undefined> => {
      const headers = { accept: "text/event-stream" };
      const { body } = await shown(new Request(`http://localhost/inbox/api/${page}`, { headers }));
      const stream = body?.getReader();
      const { value } = (await stream?.read()) ?? {};
      await stream?.cancel();
      return value;
    };
    const act = async (path: string): Promise<string> => {
      const headers = { "x-reporthook": "1", origin: "http://localhost" };
      const url = `http://localhost/inbox/api/${path}`;
      const answer = await shown(new Request(url, { method: "POST", headers }));
      expect([200, 409]).toContain(answer.status);
      return await answer.text();
    };
    output.add(await pageOf("overview"), await pageOf("deliveries"), shown);
    for (const page of ["overview", "deliveries"]) {
      const event = await liveOf(page);
      expect(event?.length).toBeGreaterThan(0);
      output.add(new TextDecoder().decode(event));
    }
    for (const { id } of await receiver.inbox.list({ limit: 1_000 })) {
      output.add(await receiver.inbox.get(id));
      output.add(await pageOf(`deliveries/${id}`), await act(`deliveries/${id}/retry`));
      output.add(await act(`deliveries/${id}/release`));
    }
    output.add(await act("release?reason=attempts_used_up"));
  }
  await receiver.close({ timeoutMs: 0 });
  return output.text;
}

describe("output", () => {
  it.each(Object.keys(mounts))("a receiver shows no secret when mounted in %s", async (mount) => {
    const text = await run({ store: "memory", mount });
    for (const word of ["accepted", "customer", "the handler is broken", "no use", "rejected"]) {
      expect(text).toContain(word);
    }
    expect(canaries.foundIn(text)).toEqual([]);
  });

  it.each<Case>([
    { store: "sqlite" },
    { store: "sqlite", verify: "before-ack" },
    { store: "memory", verify: "before-ack", expired: "refuse" },
    { store: "memory", ack: "handled" },
    { store: "sqlite", unsigned: "refuse", reusedSignature: "hold" },
    {
      store: "sqlite",
      signature: ({ url }) => new URL(url, "http://a").searchParams.get("s"),
      carry: (signature) => ({ query: `&s=${encodeURIComponent(signature)}&t=1` }),
    },
  ])("a receiver shows no secret with %o", async (options) => {
    expect(canaries.foundIn(await run(options))).toEqual([]);
  });

  it("a receiver shows no secret for any answer of the service", async () => {
    const output = Output.capture();
    const runs = [...services.urls].map(([name, baseUrl]) => {
      const client = createClient({ baseUrl, apiKey, timeoutMs: 100 });
      const verify = name.startsWith("4") ? "before-ack" : "after-ack";
      return run({ store: "memory", client, verify }, output);
    });
    await Promise.all(runs);
    expect(output.text).toContain("No verdict from the service");
    expect(canaries.foundIn(output.text)).toEqual([]);
  });

  it("a receiver shows no secret for any error of a client that the user wrote", async () => {
    const output = Output.capture();
    const runs = Object.values(failingFetches).map((fetch) => {
      const client = createClient({ baseUrl: serviceUrl, apiKey, fetch, timeoutMs: 50 });
      return run({ store: "memory", client }, output);
    });
    await Promise.all(runs);
    const client = {
      authorize: async (signature: string) => {
        throw new Error(`${"x".repeat(450)} no verdict for ${signature}`);
      },
    };
    const text = await run({ store: "sqlite", client }, output);
    expect(text).toContain("no verdict for [signature]");
    expect(canaries.foundIn(text)).toEqual([]);
  });

  it("a receiver shows the option signature no token", async () => {
    const urls: string[] = [];
    const text = await run({
      store: "memory",
      signature: ({ url }) => {
        urls.push(url);
        throw new Error(`nothing in ${url}`);
      },
    });
    expect(text).toContain("nothing in /hook");
    expect(canaries.foundIn(text + urls.join())).toEqual([]);
  });

  it("a receiver shows no secret in a span, the emulator's deliveries included", async () => {
    const output = Output.capture();
    const receiver = createReceiver({
      client: createClient({ baseUrl: serviceUrl, apiKey }),
      inbox: memoryInbox(),
      callback: { secrets: [secret] },
    });
    const { url, close } = await served(createServer(nodeHandler(receiver)), "/hook");
    const client = createClient({ baseUrl: serviceUrl, apiKey, reportAuth: "query" });
    const webhook_url = canaries.plantUrl(await receiver.callbackUrl(url));
    output.add(await client.testWebhook(webhook_url), await client.requestReport({ webhook_url }));
    await emulator.settled();
    await receiver.idle({ timeoutMs: 60_000 });
    await close();
    await output.settled(client.testWebhook(webhook_url));
    await receiver.close();
    expect(emulator.deliveries.map(({ status }) => status)).toEqual([200, 200, null]);
    expect(tracing.spans.length).toBeGreaterThan(0);
    expect(canaries.foundIn(tracing.text())).toEqual([]);
    expect(canaries.foundIn(output.text)).toEqual([]);
  });
});
