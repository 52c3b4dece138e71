import { answering, clientOf, failures, rejection } from "@reporthook/test-support/service-calls";
import axios from "axios";
import ky from "ky";
import { ofetch } from "ofetch";
import { Agent, interceptors, request } from "undici";
import { describe, expect, it } from "vitest";
import type { Fetch } from "./call-service.ts";

const report = '{"report_id":"r1"}';
const headers = { "content-type": "application/json", "retry-after": "7" };

/** Throws at 4xx and 5xx what `make` makes of the status, the headers and the body. */
const throwing =
  (make: (response: Response, status: number, plain: object, body: string) => unknown): Fetch =>
  async (url, init) => {
    const answer = await fetch(url, init);
    if (answer.ok) return answer;
    const text = await answer.clone().text();
    throw make(answer, answer.status, Object.fromEntries(answer.headers), text);
  };

const failed = (members: object, options?: ErrorOptions) =>
  Object.assign(new Error("Request failed", options), members);

/** A function that is a fetch at run time. */
const as = (given: unknown): Fetch => given as Fetch;

const byAxios = as((url: string, { body, ...init }: { body?: string }) =>
  axios.request({ url, ...init, data: body ?? null }),
);
const bySuperagent = throwing((_, status, plain, text) =>
  failed({ status, response: { status, headers: plain, text, body: {} } }),
);
const byStatusCode = throwing((_, statusCode, plain, body) =>
  failed({ response: { statusCode, headers: plain, body, destroyed: true } }),
);

/** A client with this fetch, of a service with this answer. */
const clientBy = async (fetch: Fetch, status: number) =>
  clientOf({ baseUrl: await answering(status, headers, report), fetch });

describe.each<[string, Fetch]>([
  ["ky", as(ky)],
  ["ofetch.raw", as(ofetch.raw)],
  ["axios", byAxios],
  ["superagent", bySuperagent],
  ["got", byStatusCode],
  ["the response itself", throwing((response) => response)],
  ["error.response", throwing((response) => failed({ response }))],
  ["error.status", throwing((_, status, plain, body) => failed({ status, headers: plain, body }))],
  [
    "error.statusCode, with spelled headers",
    throwing((_, statusCode, _plain, data) =>
      failed({ statusCode, headers: { "Retry-After": ["7"] }, data }),
    ),
  ],
  [
    "a cause",
    throwing((response) => failed({}, { cause: failed({}, { cause: failed({ response }) }) })),
  ],
  [
    "a cause below the status of something on the way",
    throwing((response) => failed({ status: 502 }, { cause: failed({ response }) })),
  ],
  ["a joined error", throwing((response) => new AggregateError([failed({ response })], "all"))],
])("a fetch that throws an answer as %s", (_, given) => {
  it.each([
    [200, "valid"],
    [406, "invalid"],
    [424, "expired"],
  ])("authorize() takes a thrown %i as %s", async (status, verdict) => {
    const client = await clientBy(given, status);
    await expect(client.authorize("s")).resolves.toBe(verdict);
  });

  it("authorize() takes a thrown 401 and its Retry-After and body for what they are", async () => {
    const baseUrl = await answering(401, headers, report);
    for (const error of await failures({ baseUrl, fetch: given })) {
      expect(error).toMatchObject({
        code: "service_refused",
        serviceStatus: 401,
        retryAfterMs: 7_000,
      });
      expect(error).toMatchObject({ sent: true, retryable: false, body: { report_id: "r1" } });
    }
  });

  it("requestReport() resolves to a thrown answer that names the report", async () => {
    const client = await clientBy(given, 202);
    const answer = await client.requestReport({ domains: ["a.example"] });
    expect(answer).toEqual({ status: 202, body: { report_id: "r1" } });
  });
});

/** Resolves to what `make` makes of the body, which it has read. */
const reading = (make: (status: number, text: string, response: Response) => unknown): Fetch =>
  as(async (url: string, init: RequestInit) => {
    const answer = await fetch(url, init);
    return make(answer.status, await answer.text(), answer);
  });

/** Follows redirects, and tells it by `members`. */
const telling =
  (members: object): Fetch =>
  async (url, init) => {
    const { status } = await fetch(url, { ...init, redirect: "follow" });
    return { status, headers: new Headers(), ...members };
  };
const dispatcher = new Agent().compose(interceptors.redirect({ maxRedirections: 1 }));
const byUndici = as((url: string, { method }: { method: "POST" }) =>
  request(url, { method, dispatcher }),
);

it.each<[string, Fetch]>([
  ["axios", byAxios],
  ["undici's request()", byUndici],
  ["superagent", telling({ text: "{}", redirects: ["https://a.example/login"] })],
  ["got", telling({ body: "{}", redirectUrls: [new URL("https://a.example/login")] })],
])("a redirect that %s has followed is no answer of the service", async (_, given) => {
  const location = await answering(200, headers, "{}");
  const baseUrl = await answering(302, { location });
  for (const error of await failures({ baseUrl, fetch: given })) {
    expect(error).toMatchObject({ code: "service_failed", retryable: false });
    expect(error.message).toContain("redirect");
  }
});

describe("a body that the fetch given has read", () => {
  it.each<[string, Fetch]>([
    ["beside a read response", reading((_, text, answer) => Object.assign(answer, { data: text }))],
    ["parsed", reading((status, text) => ({ status, headers: {}, body: JSON.parse(text) }))],
    ["as bytes", reading((status, text) => ({ status, body: Buffer.from(text) }))],
    [
      "as an ArrayBuffer",
      reading((status, text) => ({ status, data: new TextEncoder().encode(text).buffer })),
    ],
    ["as a blob", reading((status, text) => ({ status, _data: new Blob([text]) }))],
    ["as a stream", reading((status, text) => ({ status, data: new Blob([text]).stream() }))],
    ["as text", reading((status, text) => ({ statusCode: status, text, body: {} }))],
    ["of undici's request()", as(request)],
  ])("requestReport() finds the body that the given fetch has read, %s", async (_, given) => {
    const client = await clientBy(given, 200);
    await expect(client.requestReport({})).resolves.toEqual({
      status: 200,
      body: { report_id: "r1" },
    });
  });

  it("testWebhook() resolves when the body that the given fetch has read was empty", async () => {
    const baseUrl = await answering(200, { "content-length": "0" });
    const client = clientOf({ baseUrl, fetch: reading((_s, _t, answer) => answer) });
    await expect(client.testWebhook("https://app.example/")).resolves.toEqual({
      status: 200,
      body: "",
    });
  });

  it.each<[string, Fetch]>([
    ["read", reading((_status, _text, answer) => answer)],
    [
      "being read",
      as(async (...given: Parameters<Fetch>) => {
        const answer = await fetch(...given);
        answer.body?.getReader();
        return answer;
      }),
    ],
  ])("a client names as lost a body %s by fetch and kept nowhere", async (_, given) => {
    const options = { baseUrl: await answering(200, headers, report), fetch: given };
    for (const error of await failures(options)) {
      expect(error).toMatchObject({ code: "service_unreachable", serviceStatus: 200, sent: true });
      expect(error.retryable).toBe(false);
      expect(error.message).toContain("The fetch given kept no body that can be read");
    }
  });

  it.each([
    [406, "invalid"],
    [424, "expired"],
  ])("authorize() needs no body of a %i that the given fetch has read", async (status, verdict) => {
    const client = await clientBy(
      reading((_status, _text, answer) => answer),
      status,
    );
    await expect(client.authorize("s")).resolves.toBe(verdict);
  });

  it.each([
    ["a status alone", { status: 200 }],
    ["a status and headers", { statusCode: 200, headers }],
    ["a response without a body", { response: { status: 200, headers } }],
  ])("a client names as lost the body of a 200 when the given fetch throws %s", async (_, made) => {
    const given: Fetch = (url) =>
      Promise.reject(failed(made, { cause: new SyntaxError(`Unexpected token < of ${url}`) }));
    for (const error of await failures({ baseUrl: "https://a.example", fetch: given })) {
      expect(error).toMatchObject({ code: "service_unreachable", serviceStatus: 200, sent: true });
      expect(error.retryable).toBe(false);
      expect(error.message).toContain("The fetch given kept no body that can be read");
      expect(error.cause.cause).toMatchObject({ message: "Request failed" });
      expect(error.cause.cause.cause.message).toContain("Unexpected token < of https://a.example");
    }
  });

  it("authorize() looks for a page in the body of a 200 that the given fetch throws", async () => {
    const given =
      (body: string): Fetch =>
      () =>
        Promise.reject(failed({ response: { status: 200, headers: {}, data: body } }));
    const verdictOf = (body: string) => clientOf({ fetch: given(body) }).authorize("s");
    await expect(verdictOf("OK")).resolves.toBe("valid");
    await expect(verdictOf("")).resolves.toBe("valid");
    await expect(verdictOf("<p>Log in")).rejects.toMatchObject({ code: "service_failed" });
  });

  it("authorize() takes a thrown 200 whose body is empty as valid", async () => {
    const answer = { status: 200, headers: { "content-length": "0" } };
    const given: Fetch = () => Promise.reject(failed({ response: answer }));
    await expect(clientOf({ fetch: given }).authorize("s")).resolves.toBe("valid");
  });

  const proxied = (url: string, egress: string) => `${egress}?url=${encodeURIComponent(url)}`;
  it.each<[string, (egress: string, url: string) => Promise<unknown>]>([
    ["in its query, by ky", (egress, url) => ky(proxied(url, egress), { retry: 0 })],
    ["in its path, by ofetch", (egress, url) => ofetch.raw(`${egress}/${url}`)],
    ["among axios' parameters", (egress, url) => axios.get(egress, { params: { url } })],
  ])(
    "authorize() has its verdict by a proxy that gets the service's address %s",
    async (_, ask) => {
      const egress = await answering(406, headers, "{}");
      const fetch = as((url: string) => ask(egress, url));
      await expect(clientOf({ fetch }).authorize("s")).resolves.toBe("invalid");
    },
  );

  it("authorize() has its verdict by a thrown answer that names no address, but for parameters", async () => {
    const thrown = failed({ response: { status: 406 }, config: { url: "", params: {} } });
    const fetch = () => Promise.reject(thrown);
    await expect(clientOf({ fetch }).authorize("s")).resolves.toBe("invalid");
  });

  const strict = { transitional: { silentJSONParsing: false }, responseType: "json" } as const;
  const byKy = (url: string) => ky.post(url, { retry: 0 });
  const byWrapper = (url: string) =>
    byKy(url).catch((cause) => Promise.reject(failed({}, { cause })));
  it.each<[string, (url: string) => Promise<unknown>, number, string]>([
    ["axios, a body that is cut off", (url) => axios.post(url, null, strict), 200, '{"token":"a'],
    ["axios, a refusal", (url) => axios.post(url), 401, "{}"],
    ["ky, a 406", byKy, 406, "{}"],
    ["ofetch, a 424", (url) => ofetch(url, { method: "POST" }), 424, "{}"],
    ["a wrapper of ky, a 406", byWrapper, 406, "{}"],
  ])(
    "a client takes no answer for the service's that the given fetch gets from another server first: by %s",
    async (_, get, status, body) => {
      const login = await answering(status, headers, body);
      const given: Fetch = async (url, init) => {
        const authorization = `Bearer ${await get(`${login}/token`)}`;
        return fetch(url, { ...init, headers: { ...init.headers, authorization } });
      };
      for (const error of await failures({ baseUrl: "http://127.0.0.1:9", fetch: given })) {
        expect(error.code).toBe("service_unreachable");
        expect(error.serviceStatus).toBeUndefined();
      }
    },
  );

  it.each<[string, Fetch]>([
    ["ofetch", as(ofetch)],
    ["a fetch that parses", reading((_, text) => JSON.parse(text))],
  ])("a client's error names the report when %s gives only the body", async (_, given) => {
    const options = { baseUrl: await answering(200, headers, report), fetch: given };
    const [verdict, ...errors] = await failures(options);
    expect(verdict).toMatchObject({ code: "service_unreachable", retryable: false });
    for (const error of errors) {
      expect(error).toMatchObject({ sent: true, retryable: false, body: { report_id: "r1" } });
      expect(error.message).toContain("ofetch.raw for ofetch");
    }
  });
});

it.each([
  ["status 0", { status: 0 }],
  ["no status", { status: undefined, statusCode: null }],
  ["a text as its status", { status: "406" }],
  ["a code", { code: "ECONNRESET", statusCode: 0, response: undefined }],
  ["an answer without a status", { response: { headers: {} } }],
])("a rejection with %s is no answer", async (_, members) => {
  const given: Fetch = () => Promise.reject(failed(members));
  const client = clientOf({ fetch: given });
  const error = await rejection(client.authorize("s"));
  expect(error).toMatchObject({ code: "service_unreachable", sent: true, retryable: true });
  expect(error.serviceStatus).toBeUndefined();
});
