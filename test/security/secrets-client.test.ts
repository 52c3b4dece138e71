import { type Client, createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { answering } from "@reporthook/test-support/service-calls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTracing, type Tracing } from "../telemetry/tracing.ts";
import { Canaries } from "./secrets/canaries.ts";
import { Output } from "./secrets/output.ts";
import { failingFetches, failingServices } from "./secrets/services.ts";

const canaries = new Canaries();
const apiKey = canaries.plant("api key", `key+/="'%41\\KeyCanary4fq81zt7w`);
const signature = canaries.plant("signature", `v1,"'%2f\\SignatureCanary0d5k3`);
const token = canaries.plant("callback token", "TokenCanary8s2m5v1xTokenCanary8s2m5v1x-4_z9");
const webhook_url = `https://app.example/hook?a=b&callback_token=1.eyJhIjoxfQ.${token}`;
let services: Awaited<ReturnType<typeof failingServices>>;
let tracing: Tracing;

beforeAll(async () => {
  services = await failingServices();
  tracing = startTracing();
});
afterAll(async () => {
  await tracing.stop();
  await services.close();
});

async function callAll(client: Client, output: Output): Promise<number> {
  output.add(client);
  const answers = await Promise.all([
    output.settled(client.authorize(signature)),
    output.settled(client.testWebhook(webhook_url)),
    output.settled(client.requestReport({ webhook_url, domains: ["a.example"] })),
  ]);
  return answers.filter((answer) => answer instanceof Error).length;
}

describe("failing calls", () => {
  it("a secret is found where a client shows it, also encoded: the search can fail", async () => {
    const output = Output.capture();
    const [url = ""] = services.urls.values();
    await fetch(`${url}?api_key=${encodeURIComponent(apiKey)}`, { method: "POST" });
    expect(canaries.foundIn(tracing.text())).toEqual(["api key"]);
    output.add(Object.assign(new Error("failed"), { headers: { s: btoa(` ${signature}`) } }));
    output.add(new Error("failed", { cause: new Error(webhook_url) }));
    expect(canaries.foundIn(output.text)).toEqual(["callback token", "signature"]);
    await tracing.stop();
    tracing = startTracing();
  });

  it.each(["header", "query"] as const)("a key in a %s is never shown", async (reportAuth) => {
    const output = Output.capture();
    let failures = 0;
    for (const baseUrl of services.urls.values()) {
      const client = createClient({ baseUrl, apiKey, timeoutMs: 300, reportAuth });
      failures += await callAll(client, output);
    }
    // One answers 200 and breaks off: that is a verdict.
    expect(failures).toBe(3 * services.urls.size - 1);
    expect(canaries.foundIn(output.text)).toEqual([]);
  });

  it.each(Object.entries(failingFetches))(
    "a client shows no secret when the user's fetch %s",
    async (_, own) => {
      const output = Output.capture();
      const options = { baseUrl: "http://service.invalid", apiKey, fetch: own, timeoutMs: 50 };
      const client = createClient({ ...options, reportAuth: "query" });
      expect(await callAll(client, output)).toBeGreaterThan(0);
      expect(canaries.foundIn(output.text)).toEqual([]);
    },
  );

  it("a client shows no secret when its options are wrong", async () => {
    const output = Output.capture();
    const baseUrl = "http://service.invalid";
    const throwing = (): never => {
      throw Object.assign(new Error(apiKey), { apiKey });
    };
    const given: unknown[] = [
      { baseUrl, apiKey: `[${apiKey}]` },
      { baseUrl, apiKey: `${apiKey} ` },
      { baseUrl, apiKey: `${apiKey}\ud800` },
      { baseUrl, apiKey: { apiKey } },
      { baseUrl: `${baseUrl}?api_key=${apiKey}`, apiKey },
      { baseUrl: `http://${apiKey}@service.invalid`, apiKey },
      { baseUrl: apiKey, apiKey },
      { baseUrl, apiKey, reportAuth: apiKey },
      apiKey,
    ];
    for (const options of given) await output.settled(tried(() => createClient(options as never)));
    for (const key of [
      throwing,
      () => `<${apiKey}>`,
      () => ({ apiKey }) as never,
      () => `${apiKey}漢`,
    ]) {
      await callAll(createClient({ baseUrl, apiKey: key }), output);
    }
    const client = createClient({ baseUrl, apiKey });
    for (const odd of [`${signature}\n`, `${signature}漢`, { signature } as never]) {
      await output.settled(client.authorize(odd));
    }
    const report = { webhook_url: `ftp:${webhook_url}`, start_date: token, domains: [{ token }] };
    await output.settled(client.requestReport(report as never));
    for (const options of [apiKey, { client: apiKey }, { client: { apiKey } }]) {
      await output.settled(tried(() => createReceiver(options as never)));
    }
    await output.settled(tried(() => createEmulator({ apiKey: `<${apiKey}>` })));
    expect(canaries.foundIn(output.text)).toEqual([]);
  });

  it("a client leaves no secret among the performance entries, and takes no others away", async () => {
    const url = await answering(200, {}, "{}");
    await (await fetch(url)).text();
    for (const baseUrl of services.urls.values()) {
      const client = createClient({ baseUrl, apiKey, timeoutMs: 300, reportAuth: "query" });
      await callAll(client, Output.capture());
    }
    const left = () => performance.getEntriesByType("resource").map(({ name }) => name);
    const withKey = () => left().filter((name) => /authorize|\?api_key/.test(name));
    await expect.poll(withKey).toEqual([]);
    expect(left()).toContain(new URL(url).href);
  });

  it("a client shows no secret in a span", () => {
    // The calls that carry the key in a header, or none, are traced like any other.
    expect(tracing.spans.length).toBeGreaterThan(0);
    expect(canaries.foundIn(tracing.text())).toEqual([]);
  });
});

async function tried(run: () => unknown): Promise<unknown> {
  return run();
}
