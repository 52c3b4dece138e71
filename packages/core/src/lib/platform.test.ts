import { AsyncLocalStorage } from "node:async_hooks";
import { setUp } from "@reporthook/test-support/receiver-setup";
import { afterEach, describe, expect, it, vi } from "vitest";
import { messages } from "../log-messages.ts";
import {
  bindingToContext,
  isDevelopment,
  isTiedToRequests,
  serverlessPlatform,
} from "./platform.ts";

afterEach(() => void vi.unstubAllGlobals());

function readVariable(_: object, name: string | symbol): undefined {
  // The tool for mutation tests reads its own variable in every file.
  if (String(name).startsWith("__STRYKER")) return;
  throw new Error("process.env is not supported");
}

describe("a platform that offers less", () => {
  it("createReceiver() works where the functions of process throw when called", async () => {
    const stub = {
      env: new Proxy({}, { get: readVariable }),
      getBuiltinModule(): never {
        throw new Error("A Node.js API is used which is not supported in the Edge Runtime");
      },
    };
    vi.stubGlobal("process", stub);
    vi.resetModules();
    const { createReceiver } = await import("../receiver.ts");
    const { memoryInbox } = await import("../inbox/memory/memory-inbox.ts");
    const handled: string[] = [];
    const receiver = createReceiver({
      client: { authorize: async () => "valid" },
      inbox: memoryInbox(),
      logger: false,
    }).on("report", ({ id }) => void handled.push(id));
    const headers = { "x-svc-authorization": "s", "content-type": "application/json" };
    const request = new Request("http://localhost/", {
      method: "POST",
      headers,
      body: '{"status":"complete"}',
    });
    const answer = await receiver.fetch(request);
    expect(answer.status).toBe(200);
    await receiver.idle();
    await receiver.close();
    expect(handled).toEqual([((await answer.json()) as { id: string }).id]);
  });

  it("createReceiver() throws where there is no global crypto", async () => {
    const { createReceiver } = await import("../receiver.ts");
    vi.stubGlobal("crypto", undefined);
    const make = () => createReceiver({ client: { authorize: async () => "valid" } });
    expect(make).toThrow(/^createReceiver needs the global crypto.*Jest 28/);
  });

  it("a receiver answers 503 when crypto fails only later, and its log blames no inbox", async () => {
    const { receiver, send, lines } = setUp();
    receiver.on("report", () => {});
    vi.stubGlobal("crypto", {
      getRandomValues() {
        throw new Error("no randomness");
      },
    });
    const answers = [];
    // A pool of random bytes may last for some hundred.
    for (let count = 0; count < 300; count++) answers.push(await send("report.complete"));
    const failed = answers.find(({ status }) => status !== 200);
    expect(failed).toMatchObject({ status: 503, body: { code: "inbox_unavailable" } });
    const [line] = lines;
    expect(line?.message).toBe(messages.requestFailed);
    expect(line?.fields).toMatchObject({ error: "Error: no randomness" });
    expect(line?.fields["err"]).toBeInstanceOf(Error);
  });
});

describe("the platform", () => {
  const lambda = { env: { AWS_LAMBDA_FUNCTION_NAME: "reports" }, versions: {} };

  it.each([
    ["an ordinary process", {}, null, false],
    ["a Worker", { navigator: { userAgent: "Cloudflare-Workers" } }, "Cloudflare Workers", true],
    [
      "another user agent",
      { navigator: { userAgent: "Node.js/24" }, process: { env: {} } },
      null,
      false,
    ],
    ["a Lambda function", { process: lambda }, "AWS Lambda", false],
    ["Deno in a Lambda function", { process: lambda, Deno: {} }, null, false],
    ["no process", { process: undefined }, null, false],
  ] as const)("serverlessPlatform() knows %s", (_, globals, platform, tied) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    expect(serverlessPlatform()).toBe(platform);
    expect(isTiedToRequests()).toBe(tied);
  });

  it("isDevelopment() is true if NODE_ENV says so", () => {
    vi.stubEnv("NODE_ENV", "development");
    expect(isDevelopment()).toBe(true);
    vi.stubEnv("NODE_ENV", "production");
    expect(isDevelopment()).toBe(false);
    vi.unstubAllEnvs();
  });

  it.each([
    [{ node: "18.20.0" }, true],
    [{ node: "20.18.9" }, true],
    [{ node: "20.19.0" }, false],
    [{ node: "21.0.0" }, false],
    [{ node: "18.0.0", bun: "1.3.0" }, false],
    [{ node: "18.0.0", deno: "2.0.0" }, false],
    [{}, false],
  ])("the module refuses Node older than 20.19: %o", async (versions, refused) => {
    vi.stubGlobal("process", { versions });
    vi.resetModules();
    const loading = import("./platform.ts");
    if (refused) await expect(loading).rejects.toThrow(/needs Node 20\.19 or later, not \d/);
    else await expect(loading).resolves.toBeDefined();
  });

  it("bindingToContext() gives functions the async context of their binding, or leaves them as they are", () => {
    const storage = new AsyncLocalStorage<string>();
    const read = (suffix: string) => `${storage.getStore()}${suffix}`;
    const bound = storage.run("here", () => bindingToContext()(read));
    expect(storage.run("there", () => bound("!"))).toBe("here!");
    vi.stubGlobal("process", {});
    vi.stubGlobal("AsyncLocalStorage", undefined);
    expect(bindingToContext()(read)).toBe(read);
    vi.stubGlobal("AsyncLocalStorage", AsyncLocalStorage);
    const other = storage.run("global", () => bindingToContext()(read));
    expect(other("")).toBe("global");
  });
});
