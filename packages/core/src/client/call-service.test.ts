import {
  answering,
  clientOf,
  failures,
  key,
  rejection,
  serve,
} from "@reporthook/test-support/service-calls";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ServiceError } from "../errors.ts";
import type { Fetch } from "./call-service.ts";
import { createClient } from "./client.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("an answer that is no outcome", () => {
  it.each([201, 204])(
    "authorize() rejects when the answer is %i, which the document does not list",
    async (serviceStatus) => {
      const client = clientOf({ baseUrl: await answering(serviceStatus) });
      const failed = { code: "service_failed", serviceStatus, retryable: false };
      await expect(client.authorize("s")).rejects.toMatchObject(failed);
    },
  );

  it.each([
    [400, "service_failed", false],
    [401, "service_refused", false],
    [403, "service_refused", false],
    [404, "service_failed", false],
    [408, "service_failed", true],
    [422, "service_failed", false],
    [425, "service_failed", true],
    [429, "service_failed", true],
    [500, "service_failed", true],
    [501, "service_failed", true],
    [503, "service_failed", true],
  ])(
    "callService() rejects when the answer is %i: %s, retryable %s",
    async (status, code, retryable) => {
      const baseUrl = await answering(status, {}, '{"message":"no"}');
      for (const error of await failures({ baseUrl })) {
        expect(error).toBeInstanceOf(ServiceError);
        expect(error).toMatchObject({
          code,
          serviceStatus: status,
          retryable,
          body: { message: "no" },
        });
        expect(error.message).toContain(String(status));
        expect(error.message).toContain(baseUrl);
        expect(error.retryAfterMs).toBeUndefined();
        expect(error.cause).toBeUndefined();
      }
    },
  );

  it("requestReport() resolves to the text of an answer that is nested too deep to be read", async () => {
    const text = "[".repeat(30_000) + "]".repeat(30_000);
    const client = clientOf({ baseUrl: await answering(200, {}, text) });
    expect(await client.requestReport({})).toEqual({ status: 200, body: text });
  });

  it("callService() asks once when the answer invites another try", async () => {
    let asked = 0;
    const baseUrl = await serve((request, response) => {
      asked++;
      request.resume();
      response.writeHead(503, { "retry-after": "0" }).end();
    });
    const errors = await failures({ baseUrl });
    expect(asked).toBe(errors.length);
    expect(errors[0]).toMatchObject({ retryAfterMs: 0 });
    expect(errors[0].body).toBeUndefined();
  });

  it.each([301, 302, 303, 304, 307, 308])(
    "callService() rejects and calls nobody else when the answer is the redirect %i",
    async (status) => {
      let followed = 0;
      const target = await serve((_, response) => {
        followed++;
        response.end();
      });
      const location = `${target}/?api_key=${encodeURIComponent(key)}`;
      for (const error of await failures({ baseUrl: await answering(status, { location }) })) {
        expect(error).toMatchObject({
          code: "service_failed",
          serviceStatus: status,
          retryable: false,
        });
        expect(error.message).toContain("redirect");
      }
      expect(followed).toBe(0);
    },
  );

  it("callService() rejects when the given fetch hides or has followed a redirect", async () => {
    const opaque = Object.defineProperties(Response.error(), { type: { value: "opaqueredirect" } });
    for (const error of await failures({
      baseUrl: "http://a.example",
      fetch: async () => opaque,
    })) {
      expect(error).toMatchObject({ code: "service_failed", retryable: false });
      expect(error.serviceStatus).toBeUndefined();
    }
    const target = await answering(200);
    const baseUrl = await answering(302, { location: target });
    const following: Fetch = (url, init) => fetch(url, { ...init, redirect: "follow" });
    for (const error of await failures({ baseUrl, fetch: following })) {
      expect(error).toMatchObject({ code: "service_failed", retryable: false });
      expect(error.message).toContain("redirect");
    }
  });

  it("callService() cuts the body at 2 KiB and takes the key out when the service sends more and echoes the key", async () => {
    const echo = `bad key ${key}; `.repeat(10_000);
    for (const error of await failures({ baseUrl: await answering(400, {}, echo) })) {
      expect(error.body).toMatch(/^bad key \[api key\]; bad key \[api key\];/);
      expect(error.body.length).toBeLessThanOrEqual(2_048);
    }
  });

  it.each(
    Object.entries({
      json: JSON.stringify({ error: `no ${key}`, [key]: [key, 1] }),
      encoded: JSON.stringify({ url: `/v1?api_key=${encodeURIComponent(key)}` }),
      form: `api_key=${new URLSearchParams({ key }).toString().slice(4)}`,
      lower: encodeURIComponent(key).replace(/%../g, (encoded) => encoded.toLowerCase()),
      text: `<p>${key}</p>`,
      broken: `{"key":${JSON.stringify(key)}`,
    }),
  )(
    "callService() takes the key out of the body when the service echoes it as %s",
    async (_, body) => {
      for (const error of await failures({ baseUrl: await answering(500, {}, body) })) {
        expect(JSON.stringify(error.body)).toContain("[api key]");
      }
    },
  );
});

describe("retries", () => {
  const now = Date.UTC(2026, 10, 21, 9, 0, 0);
  it.each([
    ["120", 120_000],
    ["0", 0],
    ["-5", 0],
    ["Sat, 21 Nov 2026 09:00:30 GMT", 30_000],
    ["Saturday, 21-Nov-26 09:00:30 GMT", 30_000],
    ["Sat Nov 21 09:00:30 2026", 30_000],
    ["Sat, 21 Nov 2026 08:00:00 GMT", 0],
    ["soon", undefined],
    ["1.5", undefined],
    ["", undefined],
    ["Sat, 99 Nov 2026", undefined],
    ["9".repeat(30), undefined],
  ])("callService() reads Retry-After when it is %j: %s", async (header, expected) => {
    vi.useFakeTimers({ now, toFake: ["Date"] });
    const client = createClient({
      baseUrl: await answering(503, { "retry-after": header }),
      apiKey: key,
    });
    const error = await rejection(client.authorize("s"));
    expect(error.retryAfterMs).toBe(expected);
  });
});

describe("keys", () => {
  it.each([
    ["an error", new TypeError(`no ${key}`, { cause: key }), "TypeError"],
    ["an error with its own name", Object.assign(new Error(key), { name: key }), "something"],
    ["a text", key, "something"],
  ])("callService() names only the option when apiKey throws %s", async (_, thrown, name) => {
    const fetch = vi.fn<Fetch>();
    const apiKey = () => {
      throw thrown;
    };
    for (const error of await failures({ baseUrl: "http://a.example", fetch, apiKey })) {
      expect(error.message).toBe(`The function given as apiKey threw ${name}; nothing was sent`);
    }
    expect(fetch).not.toHaveBeenCalled();
  });
});
