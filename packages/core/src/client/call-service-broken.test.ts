import { createServer as createRawServer } from "node:net";
import { inspect } from "node:util";
import { listenLocally } from "@reporthook/test-support/listening";
import {
  clientOf,
  everythingIn,
  failures,
  key,
  operations,
  rejection,
  serveRaw,
} from "@reporthook/test-support/service-calls";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../errors.ts";
import type { Fetch } from "./call-service.ts";

describe("no answer", () => {
  it("callService() rejects with service_unreachable when the connection is refused", async () => {
    const server = createRawServer();
    const baseUrl = await listenLocally(server);
    await new Promise((resolve) => server.close(resolve));
    for (const error of await failures({ baseUrl })) {
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ code: "service_unreachable", retryable: true });
      expect(error.message).toContain("ECONNREFUSED");
      expect(error.cause).toMatchObject({ name: "TypeError", cause: { code: "ECONNREFUSED" } });
      expect(error.serviceStatus).toBeUndefined();
    }
  });

  it.each([
    ["garbage", `canary ${key} garbage\r\n\r\n`],
    ["nothing", ""],
  ])("callService() rejects with service_unreachable when the answer is %s", async (_, bytes) => {
    for (const error of await failures({ baseUrl: await serveRaw(bytes) })) {
      expect(error).toMatchObject({ code: "service_unreachable", retryable: true });
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  it("callService() rejects with the part that came, and retries nothing, when the body of a 2xx breaks off", async () => {
    const bytes = `HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf ${key}`;
    const baseUrl = await serveRaw(bytes);
    for (const error of await failures({ baseUrl }, operations({ baseUrl }).slice(1))) {
      const known = { code: "service_unreachable", serviceStatus: 200, body: "half [api key]" };
      expect(error).toMatchObject({ ...known, retryable: false });
      expect(error.message).toMatch(/answered 200, then broke off \(.+\): it is done, or will be$/);
    }
  });

  it("callService() rejects by the status when the body of another answer breaks off", async () => {
    const bytes = "HTTP/1.1 503 Away\r\ncontent-length: 99\r\n\r\nhalf";
    for (const error of await failures({ baseUrl: await serveRaw(bytes) })) {
      expect(error).toMatchObject({ code: "service_failed", serviceStatus: 503, body: "half" });
      expect(error.retryable).toBe(true);
    }
  });

  it.each([
    [200, "valid"],
    [406, "invalid"],
    [424, "expired"],
  ])(
    "authorize() has its verdict by the status %i although the body breaks off",
    async (status, verdict) => {
      const baseUrl = await serveRaw(`HTTP/1.1 ${status} S\r\ncontent-length: 99\r\n\r\nhalf`);
      await expect(clientOf({ baseUrl }).authorize("s")).resolves.toBe(verdict);
    },
  );

  it("callService() hides the key when the given fetch throws what carries the request", async () => {
    const fetch: Fetch = async (url, init) => {
      const inner = Object.assign(new Error(`connect to ${url}`), { code: `E ${url}`, url, init });
      const error = new Error(`${url} ${JSON.stringify(init)} ${inspect(init)}`, { cause: inner });
      Object.defineProperty(error, "request", { value: { url, ...init }, enumerable: false });
      error.name = `FetchError ${url}`;
      throw error;
    };
    for (const error of await failures({ baseUrl: "http://a.example", fetch })) {
      expect(error).toMatchObject({ code: "service_unreachable", retryable: true });
      expect(error.cause).not.toHaveProperty("request");
      expect(error.cause.message).toContain("http://a.example");
    }
  });

  it.each([
    ["a text", (url: string, init: unknown) => `${url} ${JSON.stringify(init)}`],
    ["an object", (url: string, init: unknown) => ({ url, init })],
    ["an AggregateError", (url: string) => new AggregateError([new Error(url)], url)],
  ])("callService() hides the key when the given fetch throws %s", async (_, thrown) => {
    const fetch: Fetch = (url, init) => {
      throw thrown(url, init);
    };
    for (const error of await failures({ baseUrl: "http://a.example", fetch })) {
      expect(error.code).toBe("service_unreachable");
    }
  });

  it("authorize() rejects with service_unreachable when the given fetch resolves to nonsense", async () => {
    const fetch = (async () => undefined) as unknown as Fetch;
    for (const error of await failures({ baseUrl: "http://a.example", fetch })) {
      expect(error.code).toBe("service_unreachable");
    }
  });

  it("callService() never shows the key when the key has odd characters", async () => {
    const unit = fc.constantFrom(..."aZ0+/=&?#%'\"\\{}[]<>`$|^~.*()é漢🔑\b");
    const keys = fc.string({ unit, maxLength: 12 }).map((text) => `canary${text}canary`);
    const fetch: Fetch = async (url, init) => {
      const told = `${url} ${JSON.stringify({ url, init })} ${new URL(url).href} ${inspect(init)}`;
      if (url.includes("authorize")) throw new Error(told);
      return new Response(told, { status: 500 });
    };
    await fc.assert(
      fc.asyncProperty(keys, async (apiKey) => {
        for (const operation of operations({ baseUrl: "http://a.example", apiKey, fetch })) {
          expect(everythingIn(await rejection(operation()))).not.toContain("canary");
        }
      }),
    );
  });
});
