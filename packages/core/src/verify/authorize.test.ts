import { validateHeaderValue } from "node:http";
import { createEmulator } from "@reporthook/emulator";
import { describe, expect, it, vi } from "vitest";
import type { Authorizer } from "../client/authorizer.ts";
import { createClient } from "../client/client.ts";
import { ServiceError } from "../errors.ts";
import { systemClock } from "../lib/time/clock.ts";
import { authorizeOnce } from "./authorize.ts";

const headers = { "content-type": "application/json" };
const job = { signature: "s", url: "/hook?a=1", context: '{"customer":"c-1"}', headers };
const { signal } = new AbortController();
const ask = (authorize: unknown) =>
  authorizeOnce({ authorize } as Authorizer, job, systemClock, signal);

describe("calls", () => {
  it("authorizeOnce() gives the client the signature, a signal and the delivery", async () => {
    const authorize = vi.fn(async () => "valid");
    expect(await ask(authorize)).toEqual({ verdict: "valid" });
    expect(authorize).toHaveBeenCalledExactlyOnceWith("s", {
      signal: expect.any(AbortSignal),
      delivery: { url: job.url, headers, context: { customer: "c-1" } },
    });
  });

  it.each([
    ["unauthorized", "service_refused", 401],
    ["unauthorized", "service_refused", 403],
    ["bad_request", "service_failed", 400],
    ["bad_request", "service_failed", 404],
    ["bad_request", "service_failed", 422],
    ["unavailable", "service_failed", 429],
    ["unavailable", "service_failed", 503],
    ["unknown", "service_failed", 500],
    ["unknown", "service_failed", 302],
    ["unavailable", "service_unreachable", undefined],
    ["unavailable", "service_timeout", undefined],
  ] as const)("authorizeOnce() says %s after %s with status %s", async (why, code, status) => {
    const details = { retryable: true, retryAfterMs: 7, ...(status && { serviceStatus: status }) };
    const error = new ServiceError(code, "no", details);
    const answer = await ask(() => Promise.reject(error));
    const hasAnswered = status !== undefined;
    expect(answer).toEqual({ verdict: null, why, hasAnswered, error, retryAfterMs: 7 });
  });

  const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  it.each([
    ["fetch that found no connection", new TypeError("fetch failed", { cause: new Error("x") })],
    ["a socket", refused],
    [
      "what wraps a socket's error",
      new Error("away", { cause: new Error("no", { cause: refused }) }),
    ],
    ["AbortSignal.timeout()", new DOMException("late", "TimeoutError")],
    ["undici", Object.assign(new Error("x"), { code: "UND_ERR_HEADERS_TIMEOUT" })],
    ["a certificate", Object.assign(new Error("x"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" })],
    ["a certificate's date", Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" })],
    ["TLS", Object.assign(new Error("x"), { code: "EPROTO" })],
  ])("authorizeOnce() says silent at a network failure of %s", async (_, error) => {
    expect(await ask(() => Promise.reject(error))).toMatchObject({
      verdict: null,
      why: "unavailable",
    });
  });

  it.each([
    ["throws by itself", () => Promise.reject(new Error("unknown tenant"))],
    ["can't read a file", () => Promise.reject(Object.assign(new Error("x"), { code: "ENOENT" }))],
    ["rejects with nothing", () => Promise.reject()],
    ["can't send this signature", () => Promise.reject(new TypeError("The signature cannot"))],
    ["rejects with a text", () => Promise.reject("x")],
    ["rejects with nonsense", () => Promise.reject({ status: "400", retryAfterMs: Number.NaN })],
    ["resolves to true", async () => true],
    ["resolves to nothing", async () => undefined],
    ["returns nothing", () => undefined],
  ])("authorizeOnce() says failed when the client %s", async (_, authorize) => {
    expect(await ask(authorize)).toMatchObject({ verdict: null, why: "unknown", retryAfterMs: 0 });
  });

  it("authorizeOnce() says unknown when there is no API key: that may be so for one delivery alone", async () => {
    const apiKey = () => Promise.reject(new Error("no such tenant"));
    const client = createClient({ baseUrl: "https://api.example", apiKey });
    const answer = await ask(client.authorize);
    expect(answer).toMatchObject({ verdict: null, why: "unknown", hasAnswered: false });
  });

  it("authorizeOnce() says unknown of a client whose own header can't be sent, for the signature can", async () => {
    const answer = await ask(async () => validateHeaderValue("authorization", "token\n"));
    expect(answer).toMatchObject({ verdict: null, why: "unknown" });
  });

  it.each([
    ["our client", createClient({ baseUrl: "https://api.example", apiKey: "k" }).authorize],
    [
      "a client on node:http",
      async (signature: string) => validateHeaderValue("x-svc-authorization", signature),
    ],
  ])(
    "authorizeOnce() says bad_request of a signature that no header can carry, with %s",
    async (_, authorize) => {
      const odd = { ...job, signature: "\u65e5" };
      const answer = await authorizeOnce({ authorize } as Authorizer, odd, systemClock, signal);
      expect(answer).toMatchObject({ verdict: null, why: "bad_request", hasAnswered: false });
    },
  );

  it("authorizeOnce() gives up when its signal aborts, or after 30 seconds, with any client", async () => {
    const { clock } = createEmulator();
    const signals: (AbortSignal | undefined)[] = [];
    const client: Authorizer = {
      authorize(_, options) {
        signals.push(options?.signal);
        return new Promise(() => {});
      },
    };
    const controller = new AbortController();
    const answers = [authorizeOnce(client, job, clock, controller.signal)];
    controller.abort(new Error("closing"));
    answers.push(
      authorizeOnce(client, job, clock, signal),
      authorizeOnce(client, job, clock, controller.signal),
    );
    clock.advance(30_000);
    const whys = (await Promise.all(answers)).map((answer) => "why" in answer && answer.why);
    expect(whys).toEqual(["unknown", "unavailable", "unknown"]);
    expect(signals.map((given) => given?.aborted)).toEqual([true, true]);
  });
});
