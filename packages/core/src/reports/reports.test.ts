import { inspect } from "node:util";
import {
  askingSetUp,
  callbackSecret as secret,
  callbackBase as url,
} from "@reporthook/test-support/asking-setup";
import {
  hasSettled,
  never,
  setUp,
  turns,
  turnUntil,
} from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createClient } from "../client/client.ts";
import { DoNotRetry, ReporthookError } from "../errors.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import type { RequestStore } from "../inbox/request-store.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverOptions } from "../options/receiver-options.ts";
import { KnownRequests } from "./known-requests.ts";

const report = { domains: ["example.com"] };
const context = { customer: "c-1" };
const day = 86_400_000;
const byService = ["complete", "internal_error", "processing"] as const;

const statusOf = (status: number) => () => new Response("no", { status });

describe("asking", () => {
  it("reports.request() sends a URL whose token carries the id alone, and keeps the answer without it", async () => {
    const { reports, sent } = askingSetUp();
    const { id, answer } = await reports.request(report, { context });
    const token = new URL(sent[0] ?? "").searchParams.get("callback_token") ?? "none";
    expect(atob(token.split(".")[1] ?? "")).toBe(id);
    const record = await reports.get(id);
    expect(record).toMatchObject({ id, state: "open", report, context, answer, reportId: null });
    expect(Number(record?.dueAt) - Number(record?.requestedAt)).toBe(day);
    expect(inspect([answer, record], { depth: 9 })).not.toContain(token.split(".")[2]);
    expect(await reports.get("other")).toBeNull();
  });

  it.each(["#a=b", "#top"])(
    "reports.request() keeps an answer without the token of a URL that ends in %s",
    async (fragment) => {
      const callback = { secrets: [secret], url: url + fragment };
      const { failWith, reports, sent } = askingSetUp({ callback });
      const echoed = () => sent.at(-1)?.split("#")[0];
      failWith(() => Response.json({ to: echoed(), all: sent.at(-1) }, { status: 201 }));
      const { id } = await reports.request(report);
      const hidden = `${url}?callback_token=[callback token]`;
      expect(await reports.get(id)).toMatchObject({
        answer: { status: 201, body: { to: hidden, all: hidden + fragment } },
      });
      failWith(() => new Response(`Can't reach ${echoed()}`, { status: 400 }));
      const error = await reports.request(report).catch((given: unknown) => given);
      expect(error).toMatchObject({ body: `Can't reach ${hidden}` });
    },
  );

  it("reports.request() leaves nothing behind after a clear refusal, and frees the key", async () => {
    const { reports, sent, failWith } = askingSetUp();
    for (const status of [400, 401, 404, 422]) {
      failWith(statusOf(status));
      const failure = reports.request(report, { idempotencyKey: "k" });
      await expect(failure).rejects.toMatchObject({ serviceStatus: status });
    }
    const wrong = reports.request({ start_date: "x" }, { idempotencyKey: "k" });
    await expect(wrong).rejects.toMatchObject({ code: "invalid_report_request" });
    for (const none of [null, undefined, 5, "x", true, []]) {
      const problems = [
        { field: "report", message: expect.stringContaining("must be a plain object") },
      ];
      await expect(reports.request(none as object)).rejects.toMatchObject({ problems });
    }
    const own = reports.request({ webhook_url: url } as object);
    await expect(own).rejects.toMatchObject({ problems: [{ field: "webhook_url" }] });
    expect(await reports.list()).toEqual([]);
    failWith(null);
    expect((await reports.request(report, { idempotencyKey: "k" })).answer?.status).toBe(201);
    expect(sent).toHaveLength(5);
  });

  it("reports.request() keeps a request that the service may have as unconfirmed, and sends it again only when told", async () => {
    const { reports, sent, failWith } = askingSetUp();
    for (const [index, how] of [
      ...[500, 503, 408, 429].map(statusOf),
      () => Promise.reject(new Error("socket hang up")),
    ].entries()) {
      failWith(how);
      const idempotencyKey = `k ${index}`;
      const error = await reports.request(report, { idempotencyKey }).catch((given) => given);
      expect(error).toMatchObject({ retryable: false, requestId: expect.any(String) });
      const { requestId: id } = error as { requestId: string };
      expect(await reports.get(id)).toMatchObject({ state: "unconfirmed", answer: null });
      const known = { id, answer: null };
      expect(await reports.request(report, { idempotencyKey })).toEqual(known);
      failWith(statusOf(400));
      const again = reports.request(report, { idempotencyKey, resend: true });
      await expect(again).rejects.toMatchObject({ requestId: id, retryable: false });
      failWith(null);
      const resent = await reports.request(report, { idempotencyKey, resend: true });
      expect(resent).toMatchObject({ id, answer: { status: 201 } });
      expect(await reports.request(report, { idempotencyKey, resend: true })).toEqual(resent);
      const urls = sent.splice(0);
      expect([urls.length, new Set(urls).size]).toEqual([3, 1]);
    }
  });

  it.each([
    ["abort()", undefined, "AbortError"],
    ["abort(text)", "enough", "AbortError"],
    ["abort(error)", new Error("the user left"), "Error"],
    ["a timeout", new DOMException("late", "TimeoutError"), "TimeoutError"],
  ])(
    "reports.request() rejects each of two requests that %s has ended as aborted, with its own id",
    async (_, reason, name) => {
      const { reports, sent, failWith } = askingSetUp();
      const controller = new AbortController();
      failWith(never);
      const all = [1, 2].map(() => reports.request(report, { signal: controller.signal }));
      await turnUntil(() => sent.length === 2);
      controller.abort(reason);
      const ends = await Promise.allSettled(all);
      const errors = ends.map((end) => "reason" in end && end.reason);
      expect(errors.map((error) => [error.name, error.retryable])).toEqual([
        [name, false],
        [name, false],
      ]);
      const ids = new Set(errors.map((error) => error.requestId));
      expect(ids.size).toBe(2);
      expect(ids).toEqual(new Set((await reports.list()).map(({ id }) => id)));
    },
  );

  it.each([
    ["before it is asked", true],
    ["before it is sent", false],
  ])("reports.request() leaves nothing behind when it is aborted %s", async (_, isBefore) => {
    const { reports, sent } = askingSetUp();
    const controller = new AbortController();
    const { signal } = controller;
    if (isBefore) controller.abort();
    const asked = reports.request(report, { signal, idempotencyKey: "k" });
    if (!isBefore) controller.abort();
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
    await expect(asked).rejects.not.toHaveProperty("requestId");
    expect([sent, await reports.list()]).toEqual([[], []]);
    expect((await reports.request(report, { idempotencyKey: "k" })).answer?.status).toBe(201);
  });

  it("reports.request() leaves nothing behind when it is aborted while the function for the API key is asked", async () => {
    let keyOf = (): Promise<string> => new Promise(() => {});
    const apiKey = vi.fn(() => keyOf());
    const fetch = vi.fn(async () => Response.json({}, { status: 201 }));
    const client = createClient({ baseUrl: "https://service.example", apiKey, fetch });
    const { reports } = askingSetUp({ client });
    const controller = new AbortController();
    const { signal } = controller;
    const asked = reports.request(report, { signal, idempotencyKey: "k" });
    await turnUntil(() => apiKey.mock.calls.length === 1);
    const left = new Error("the user left");
    controller.abort(left);
    await expect(asked).rejects.toBe(left);
    expect(left).not.toHaveProperty("requestId");
    expect(await reports.list()).toEqual([]);
    keyOf = async () => "key";
    expect((await reports.request(report, { idempotencyKey: "k" })).answer?.status).toBe(201);
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it.each([201, 400, 503])(
    "reports.request() waits for another one with its key, and is sent if that was refused, answered %i",
    async (status) => {
      const { reports, sent, failWith, hold } = askingSetUp();
      const answer = hold();
      const ask = (given: object) => reports.request(given, { idempotencyKey: "k" });
      const first = ask(report).catch(({ requestId }) => ({ id: requestId, answer: null }));
      await turnUntil(() => sent.length === 1);
      const second = ask(report);
      const other = ask({ domains: ["other.example"] }).catch(({ code }) => code);
      await turns();
      failWith(null);
      answer(Response.json({}, { status }));
      const isRefused = status === 400;
      const found = await second;
      if (!isRefused) expect(found).toEqual(await first);
      expect(await reports.list()).toMatchObject([found]);
      expect(sent).toHaveLength(isRefused ? 2 : 1);
      expect(await other).toBe("idempotency_key_reused");
    },
  );

  it("reports.request() that waits for another one with its key is aborted at once, and others go on waiting", async () => {
    const { reports, sent, hold } = askingSetUp();
    const answer = hold();
    const idempotencyKey = "k";
    const first = reports.request(report, { idempotencyKey });
    await turnUntil(() => sent.length === 1);
    const controller = new AbortController();
    const { signal } = controller;
    const second = reports.request(report, { idempotencyKey, signal });
    await turns();
    controller.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    const third = reports.request(report, { idempotencyKey });
    await turns();
    answer(Response.json({}, { status: 201 }));
    expect(await third).toEqual(await first);
    expect(sent).toHaveLength(1);
  });

  it.each<[string, () => string | Promise<string>]>([
    [
      "throws",
      () => {
        throw new Error("vault");
      },
    ],
    ["rejects", () => Promise.reject(new Error("vault"))],
    ["returns nothing", () => ""],
    ["returns one that no header can carry", () => "ключ"],
  ])(
    "reports.request() leaves nothing behind when the function for the API key %s",
    async (_, fail) => {
      let apiKey = fail;
      const client = createClient({
        baseUrl: "https://service.example",
        apiKey: () => apiKey(),
        fetch: async () => Response.json({}, { status: 201 }),
      });
      const { reports } = askingSetUp({ client });
      const error = await reports.request(report, { idempotencyKey: "k" }).catch((given) => given);
      expect(error).toMatchObject({ sent: false });
      expect(error.requestId).toBeUndefined();
      expect(await reports.list()).toEqual([]);
      apiKey = () => "key";
      expect((await reports.request(report, { idempotencyKey: "k" })).answer?.status).toBe(201);
    },
  );

  it("close() waits until a request on its way is answered, and keeps the answer", async () => {
    const inbox = memoryInbox();
    const { receiver, reports, sent, hold } = askingSetUp({ inbox });
    const answer = hold();
    const asked = reports.request(report);
    await turnUntil(() => sent.length === 1);
    const closing = receiver.close();
    await turns();
    // Another one begins while it closes.
    const another = hold();
    const more = reports.request(report);
    await turnUntil(() => sent.length === 2);
    answer(Response.json({}, { status: 201 }));
    expect((await asked).answer?.status).toBe(201);
    expect(await hasSettled(closing)).toBe(false);
    another(Response.json({}, { status: 201 }));
    expect((await more).answer?.status).toBe(201);
    await closing;
  });

  it("close() waits for a request on its way until the timeout alone", async () => {
    const { receiver, reports, sent, failWith } = askingSetUp();
    failWith(never);
    void reports.request(report).catch(() => {});
    await turnUntil(() => sent.length === 1);
    await receiver.close({ timeoutMs: 50 });
    await expect(reports.request(report)).rejects.toMatchObject({ code: "closed" });
  });

  it("reports.request() that waits for another one with its key is waited for by close()", async () => {
    const { receiver, reports, sent, failWith } = askingSetUp();
    const answers: ((response: Response) => void)[] = [];
    failWith(() => new Promise((answer) => answers.push(answer)));
    const one = reports.request(report, { idempotencyKey: "k" });
    const other = reports.request(report, { idempotencyKey: "k" });
    one.catch(() => {});
    await turnUntil(() => answers.length === 1);
    const closing = receiver.close();
    answers[0]?.(statusOf(400)());
    await expect(one).rejects.toMatchObject({ serviceStatus: 400 });
    await turnUntil(() => answers.length === 2);
    expect(await hasSettled(closing)).toBe(false);
    answers[1]?.(Response.json({}, { status: 201 }));
    expect((await other).answer?.status).toBe(201);
    await closing;
    expect(sent).toHaveLength(2);
  });

  it.each([
    [500, { state: "unconfirmed", answer: null }],
    [422, null],
  ])(
    "reports.request() confirms nothing by the answer %d of a client of the app",
    async (status, left) => {
      const client = {
        authorize: async () => "valid" as const,
        requestReport: async () => ({ status }),
      };
      const { reports } = askingSetUp({ client: client as unknown as ReceiverOptions["client"] });
      const error = { code: "service_failed", serviceStatus: status, retryable: false };
      await expect(reports.request(report)).rejects.toMatchObject(error);
      expect((await reports.list())[0] ?? null).toEqual(left && expect.objectContaining(left));
    },
  );

  const body = { status: "processing", report_id: "r-1" };
  const readResponse = async () => {
    const response = Response.json(body);
    await response.text();
    return response;
  };
  it.each([
    ["the body itself", () => body, body],
    ["a text", () => "ok", "ok"],
    ["nothing", () => undefined, null],
    ["a Response with JSON", () => Response.json(body), body],
    ["a Response with a text", () => new Response("ok"), "ok"],
    ["a Response without a body", () => new Response(null, { status: 204 }), ""],
    ["a statusCode and a body", () => ({ statusCode: 200, body }), body],
    ["a body without a status", () => ({ body }), body],
    ["a Response that was read", readResponse, null],
    ["a status without a body", () => ({ status: 202 }), null],
  ])(
    "reports.request() records the answer of a client of the app that gives %s",
    async (_, give, kept) => {
      const requestReport = async () => await give();
      const client = { authorize: async () => "valid" as const, requestReport };
      const { reports } = askingSetUp({ client: client as unknown as ReceiverOptions["client"] });
      const { id, answer } = await reports.request(report);
      expect(answer?.body).toEqual(kept);
      expect(await reports.get(id)).toMatchObject({ state: "open", answer });
    },
  );

  it("reports.request() ends at its signal, and frees its key, though a client of the app does not", async () => {
    const requestReport = vi.fn(never);
    const client = { authorize: async () => "valid" as const, requestReport };
    const { reports } = askingSetUp({ client });
    const controller = new AbortController();
    const options = { idempotencyKey: "k", signal: controller.signal };
    const asking = reports.request(report, options);
    asking.catch(() => {});
    await vi.waitUntil(() => requestReport.mock.calls.length === 1, 60_000);
    controller.abort();
    const error = await asking.catch((given: unknown) => given);
    expect(error).toMatchObject({ name: "AbortError", retryable: false });
    const { id, answer } = await reports.request(report, { idempotencyKey: "k" });
    expect([error, answer]).toMatchObject([{ requestId: id }, null]);
  });

  it("reports.request() leaves the error of the inbox as it is, for it may be that of other calls", async () => {
    const inbox = memoryInbox();
    const away = new Error("The thread has ended");
    const { reports, failWith } = askingSetUp({ inbox });
    const { requests } = inbox;
    const replace = requests?.replace;
    for (const how of [null, statusOf(400)]) {
      failWith(how);
      Object.assign(requests ?? {}, { replace: () => Promise.reject(away) });
      const idempotencyKey = `k ${how === null}`;
      const error = await reports.request(report, { idempotencyKey }).catch((given) => given);
      Object.assign(requests ?? {}, { replace });
      const { id } = await reports.request(report, { idempotencyKey });
      expect(error).toMatchObject({ requestId: id, retryable: false, cause: away });
      expect(await reports.get(id)).toMatchObject({ state: "unconfirmed" });
      expect(away).not.toHaveProperty("requestId");
    }
  });

  it("reports.request() compares report and context by value, and refuses a key with others", async () => {
    const { reports, sent } = askingSetUp();
    const idempotencyKey = "k";
    const first = { domains: ["a.example"], start_date: "2026-01" };
    const options = { idempotencyKey, context: { a: 1, b: [1, { c: 2, d: 3 }] } };
    const { id } = await reports.request(first, options);
    const other = { start_date: "2026-01", domains: ["a.example"] };
    const same = { b: [1, { d: 3, c: 2 }], a: 1 };
    expect((await reports.request(other, { idempotencyKey, context: same })).id).toBe(id);
    for (const [given, about] of [
      [report, same],
      [first, { ...same, a: 2 }],
      [first, undefined],
      [first, null],
    ] as const) {
      const refused = reports.request(given, { idempotencyKey, context: about });
      await expect(refused).rejects.toMatchObject({ code: "idempotency_key_reused" });
    }
    expect(sent).toHaveLength(1);
    // A record shows both as null.
    const without = await reports.request(report, { idempotencyKey: "none" });
    const asNull = await reports.request(report, { idempotencyKey: "none", context: null });
    expect(asNull.id).toBe(without.id);
  });

  it("receiver.reports rejects with a TypeError that says what to set, or what is wrong", async () => {
    const says = async (options: Partial<ReceiverOptions>, given: object = {}) => {
      const failure = await askingSetUp(options)
        .reports.request(report, given)
        .catch((error) => error);
      expect(failure).toBeInstanceOf(TypeError);
      return String(failure);
    };
    expect(await says({ callback: undefined })).toContain("callback: { secrets: [secret], url: ");
    expect(await says({ callback: { secrets: [secret] } })).toContain("public address");
    expect(await says({ client: { authorize: async () => "valid" } })).toContain("requestReport");
    expect(await says({ ack: "handled" })).toContain('ack: "stored"');
    const keepsNone = () => Object.assign(memoryInbox(), { requests: undefined });
    expect(await says({ inbox: keepsNone() })).toContain("keeps no requests");
    for (const idempotencyKey of ["", "a\ud800", "a\0b"]) {
      expect(await says({}, { idempotencyKey })).toContain("1 to 200 characters");
    }
    expect(await says({}, { overdueMs: 0 })).toContain("milliseconds from 1");
    for (const context of [
      () => {},
      Promise.resolve("c-1"),
      { customers: new Map([["c-1", 1]]) },
    ]) {
      expect(await says({}, { context })).toContain("something that JSON can hold");
    }
    expect(await says({}, { resend: true })).toContain("with resend");
    expect(await says({}, { tag: 1 })).toContain("tag is no option");
    const { reports } = askingSetUp({ inbox: keepsNone() });
    await expect(reports.counts()).rejects.toThrow(TypeError);
  });

  type Wrong = [method: "get" | "list" | "settle" | "wait", args: unknown[], says: string];
  it.each<Wrong>([
    ["get", [1], "reports.get: id must"],
    ["list", [{ state: "late" }], "reports.list: state must be overdue or one of "],
    ["list", [{ states: [] }], "reports.list: states is no option"],
    ["list", [{ newestFirst: 1 }], "reports.list: newestFirst must"],
    ["list", [{ limit: 0 }], "reports.list: limit must"],
    ["list", [{ after: 1 }], "reports.list: after must"],
    ["settle", [1, "complete"], "reports.settle: id must"],
    ["settle", ["a", "open"], "reports.settle: status must be complete or internal_error"],
    ["settle", ["a", "complete", { text: "" }], "reports.settle: text is no option"],
    ["settle", ["a", "complete", { body: null }], "reports.settle: body must be a plain object"],
    ["settle", ["a", "complete", { body: [] }], "reports.settle: body must be a plain object"],
    ["settle", ["a", "complete", { body: "{}" }], "reports.settle: body must be a plain object"],
    ["wait", [1], "reports.wait: id must"],
    ["wait", ["a", { timeoutMs: -1 }], "reports.wait: timeoutMs must"],
    ["wait", ["a", { signal: {} }], "reports.wait: signal must"],
  ])("receiver.reports refuses %s(...%j): %s", async (method, args, says) => {
    const call = askingSetUp().reports[method] as (...args: unknown[]) => Promise<unknown>;
    await expect(call(...args)).rejects.toThrow(new RegExp(`^${says}`));
  });
});

describe("following", () => {
  it("an event of a request has its id and context, and each status is handled once", async () => {
    const { receiver, reports, notify, seen, lines } = askingSetUp();
    const { id } = await reports.request(report, { context });
    for (const status of ["processing", "complete", "complete", "processing"]) {
      await notify(status);
      await receiver.idle();
    }
    const about = { requestId: id, context, reportId: "r-1" };
    expect(seen).toMatchObject([
      { type: "report.processing", ...about },
      { type: "report.complete", ...about },
    ]);
    expect(await reports.get(id)).toMatchObject({
      state: "complete",
      reportId: "r-1",
      processingAt: expect.any(Date),
    });
    const repeated = await receiver.inbox.list({ requestId: id });
    expect(repeated.slice(2).map(({ state, lastError }) => [state, lastError])).toEqual([
      ["handled", `no handler ran: it repeats ${repeated[1]?.id}`],
      ["handled", `no handler ran: it repeats ${repeated[0]?.id}`],
    ]);
    expect(await receiver.inbox.get(repeated[0]?.id ?? "")).toMatchObject({ context });
    await notify("internal_error");
    await receiver.idle();
    expect(seen).toHaveLength(3);
    expect((await reports.get(id))?.state).toBe("complete");
    expect(lines).toMatchObject([{ message: messages.anotherEnd, fields: { state: "complete" } }]);
  });

  it("an unknown event after the end is handled, and is no other final status", async () => {
    const { receiver, reports, notify, seen, lines } = askingSetUp();
    await reports.request(report);
    for (const status of ["complete", "archived"]) {
      await notify(status);
      await receiver.idle();
    }
    expect(seen.map(({ type }) => type)).toEqual(["report.complete", "unknown"]);
    expect(lines).toEqual([]);
  });

  it("a delivery whose handlers fail is tried again, and one that was discarded leaves its status to others", async () => {
    let fails = 2;
    const { receiver, reports, notify, observed, advanceUntil } = askingSetUp();
    receiver.on("report", () => {
      if (fails-- > 0) throw fails > 0 ? new Error("once") : new DoNotRetry("no");
    });
    const { id } = await reports.request(report);
    const first = await notify("complete");
    await advanceUntil(() => observed.some(([name]) => name === "parked"));
    expect(await receiver.inbox.get(first)).toMatchObject({ state: "dead", attempts: 2 });
    const second = await notify("complete");
    await receiver.idle();
    expect((await receiver.inbox.get(second))?.lastError).toContain(`repeats ${first}`);
    await receiver.inbox.discard(first);
    const third = await notify("complete");
    await receiver.idle();
    expect(await receiver.inbox.get(third)).toMatchObject({ state: "handled", lastError: null });
    expect((await reports.get(id))?.state).toBe("complete");
  });

  it("report.processing after the end runs no handler, also if an earlier one was discarded", async () => {
    const { receiver, reports, notify, observed, advanceUntil } = askingSetUp();
    const seen: string[] = [];
    receiver.on("report", ({ type }) => {
      seen.push(type);
      if (type === "report.processing") throw new DoNotRetry("no");
    });
    await reports.request(report);
    const first = await notify("processing");
    await advanceUntil(() => observed.some(([name]) => name === "parked"));
    await notify("complete");
    await receiver.idle();
    await receiver.inbox.discard(first);
    const second = await notify("processing");
    await receiver.idle();
    expect(seen).toEqual(["report.processing", "report.complete"]);
    expect(await receiver.inbox.get(second)).toMatchObject({
      state: "handled",
      lastError: "no handler ran: the request was complete",
    });
  });

  it("a forged or unsigned notification changes nothing of a request", async () => {
    const { receiver, reports, notify, seen } = askingSetUp();
    const { id } = await reports.request(report);
    const before = await reports.get(id);
    for (const signature of ["forged", ""]) {
      for (const status of byService) await notify(status, { signature });
    }
    await receiver.idle();
    expect(seen).toEqual([]);
    expect(await reports.get(id)).toEqual(before);
    expect(await receiver.inbox.counts()).toMatchObject({ rejected: 3, held: 3 });
  });

  it("the client is given the context of the request, and a status without a handler is no warning", async () => {
    const asked: unknown[] = [];
    const sent: string[] = [];
    const own = setUp({
      callback: { secrets: [secret], url },
      client: {
        async authorize(_, { delivery }) {
          asked.push(delivery.context);
          return "valid";
        },
        requestReport: async (given, options) => {
          sent.push(given.webhook_url ?? "");
          expect(options.context).toEqual(context);
          return { status: 200, body: {} };
        },
      },
    });
    await own.receiver.reports.request(report, { context });
    own.receiver.on("report.complete", () => {});
    const body = '{"status":"processing"}';
    const headers = { "X-svc-authorization": "s" };
    await own.post({ headers, body }, sent[0]);
    await own.receiver.idle();
    expect(asked).toEqual([context]);
    expect(own.lines).toEqual([]);
  });

  it.each([
    ["held where a token is required", true],
    ["handled where none is", false],
  ])("a genuine notification of a request that is not known is %s", async (_, require) => {
    const inbox = memoryInbox();
    const callback = { secrets: [secret], url, require };
    const { receiver, reports, notify, seen } = askingSetUp({ inbox, callback });
    const { id } = await reports.request(report, { context });
    const stored = await inbox.requests?.get(id);
    if (stored) await inbox.requests?.replace(stored, null);
    await notify("complete");
    await receiver.idle();
    const held = { state: "held", reason: { code: "no_token" } };
    expect(await receiver.inbox.list()).toMatchObject([require ? held : { state: "handled" }]);
    expect(seen).toHaveLength(require ? 0 : 1);
  });
});

describe("the end", () => {
  it("report.overdue is told once for a request that is due, and a later status is handled", async () => {
    const { emulator, receiver, reports, notify, seen } = askingSetUp();
    await receiver.start();
    const { id } = await reports.request(report, { context });
    emulator.clock.advance(day - 60_000);
    await receiver.idle();
    expect(seen).toEqual([]);
    emulator.clock.advance(60_000);
    await receiver.idle();
    const record = await reports.get(id);
    expect(seen).toEqual([
      {
        id: expect.any(String),
        type: "report.overdue",
        requestId: id,
        report,
        context,
        answer: record?.answer,
        requestedAt: record?.requestedAt,
        dueAt: record?.dueAt,
        confirmed: true,
        lastStatus: null,
        reportId: null,
        receivedAt: expect.any(Date),
        eventType: null,
        verification: null,
        body: null,
      },
    ]);
    expect(await reports.list({ state: "overdue" })).toMatchObject([{ id }]);
    expect(await reports.counts()).toMatchObject({ open: 1, overdue: 1 });
    emulator.clock.advance(2 * day);
    await receiver.idle();
    await notify("complete");
    await receiver.idle();
    expect(seen.map(({ type }) => type)).toEqual(["report.overdue", "report.complete"]);
    expect(await reports.counts()).toMatchObject({ complete: 1, overdue: 0 });
  });

  it("report.overdue has the last status, and a handler for report does not see it", async () => {
    const { emulator, receiver, reports, notify, seen } = askingSetUp();
    const ofReports: string[] = [];
    receiver.on("report", ({ type }) => void ofReports.push(type));
    receiver.on("report.overdue", ({ lastStatus }) => void ofReports.push(`overdue ${lastStatus}`));
    await reports.request(report);
    await notify("processing");
    await receiver.idle();
    emulator.clock.advance(day);
    await receiver.idle();
    expect(seen[1]).toMatchObject({ type: "report.overdue", lastStatus: "processing" });
    expect(ofReports).toEqual(["report.processing", "overdue processing"]);
  });

  it("a request whose report.overdue was handled is told as overdue, though the sweep could not note it", async () => {
    const inbox = memoryInbox();
    const { emulator, receiver, reports, notify, seen } = askingSetUp({ inbox });
    await receiver.start();
    const { id } = await reports.request(report);
    const { requests } = inbox;
    const replace: RequestStore["replace"] = async (read, next) => {
      const brought = [read, next].map((one) => JSON.stringify(one?.brought));
      const isTold = read.dates.overdueAt !== next?.dates.overdueAt;
      const isNote = isTold && brought[0] === brought[1];
      if (isNote) throw new Error("The inbox is away");
      return (await own?.(read, next)) ?? false;
    };
    const own = requests?.replace;
    Object.assign(requests ?? {}, { replace });
    emulator.clock.advance(day);
    await turnUntil(() => seen.length === 1);
    await notify("complete");
    await turnUntil(() => seen.length === 2);
    expect(await reports.get(id)).toMatchObject({ state: "complete", overdueAt: expect.any(Date) });
  });

  it("report.overdue is told within a second of the clock, and not once the request is settled", async () => {
    const { receiver, reports, notify, seen, pass } = askingSetUp();
    await receiver.start();
    await reports.request(report, { overdueMs: 5_000 });
    await notify("complete");
    await receiver.idle();
    const { id } = await reports.request(report, { overdueMs: 5_000 });
    await pass(6 * 1_000, 1_000);
    await turnUntil(() => seen.length === 2);
    expect(seen[1]).toMatchObject({ type: "report.overdue", requestId: id });
  });

  it("reports.settle() has the handlers run with the given status and body, once", async () => {
    const { receiver, reports, notify, seen } = askingSetUp();
    const { id } = await reports.request(report, { context });
    await notify("processing");
    await receiver.idle();
    expect(await reports.settle(id, "complete", { body: { file: "x" } })).toBe(true);
    expect(await reports.settle(id, "complete")).toBe(false);
    expect(await reports.settle(id, "internal_error")).toBe(false);
    await notify("complete");
    await receiver.idle();
    expect(seen.slice(1)).toMatchObject([
      {
        type: "report.complete",
        status: "complete",
        verification: "settled",
        requestId: id,
        reportId: "r-1",
        context,
        body: { file: "x" },
      },
    ]);
    await expect(reports.settle("other", "complete")).rejects.toMatchObject({ code: "not_found" });
    await expect(reports.settle(id, "open" as "complete")).rejects.toThrow(TypeError);
  });

  it("reports.settle() with a body that a schema refuses parks it, and is repeated once that is discarded", async () => {
    const validate = (value: unknown) =>
      "report_id" in Object(value) ? { value } : { issues: [{ message: "it names no report" }] };
    const schema = { "~standard": { version: 1, vendor: "test", validate } } as const;
    const { receiver, reports } = askingSetUp({ schemas: { "report.complete": schema } });
    const { id } = await reports.request(report);
    await receiver.start();
    expect(await reports.settle(id, "complete")).toBe(true);
    await receiver.idle();
    const [parked] = await receiver.inbox.list({ reason: "schema_mismatch" });
    expect(await reports.settle(id, "complete", { body: { report_id: "r" } })).toBe(false);
    await receiver.inbox.discard(parked?.id ?? "");
    expect(await reports.settle(id, "complete", { body: { report_id: "r" } })).toBe(true);
    await receiver.idle();
    expect(await receiver.inbox.list()).toMatchObject([{ state: "handled", reportId: "r" }]);
  });

  it("reports.settle() stores nothing of a body that JSON can't hold, and says so", async () => {
    const { receiver, reports } = askingSetUp();
    const { id } = await reports.request(report);
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const late = Promise.resolve("r-1");
    for (const body of [{ cycle }, { bytes: 1n }, { toJSON: () => undefined }, { id: late }]) {
      const settling = reports.settle(id, "complete", { body });
      const says = "reports.settle: body must be something that JSON can hold";
      await expect(settling).rejects.toThrow(says);
    }
    expect(await receiver.inbox.list()).toEqual([]);
    expect(await reports.get(id)).toMatchObject({ state: "open", settledAt: null });
    expect(await reports.settle(id, "complete", { body: { file: "x" } })).toBe(true);
  });

  it("reports.request() says what the client answered that JSON can't hold, and leaves the request unconfirmed", async () => {
    const requestReport = async () => ({ status: 202, body: { bytes: 1n } });
    const { reports } = askingSetUp({ client: { authorize: async () => "valid", requestReport } });
    const error = await reports.request(report).catch((thrown) => thrown);
    expect(String(error)).toContain("What requestReport of the client answers must be something");
    expect(await reports.get(error.requestId)).toMatchObject({ state: "unconfirmed" });
  });

  it("reports.settle() takes the report's id from the given body, unless a notification told it", async () => {
    const { receiver, reports, notify, seen, sent } = askingSetUp();
    const first = await reports.request(report, { context });
    const second = await reports.request(report, { context });
    await notify("processing", { at: sent[1] });
    await receiver.idle();
    for (const { id } of [first, second]) {
      await reports.settle(id, "complete", { body: { report_id: `found for ${id}` } });
    }
    await receiver.idle();
    const found = `found for ${first.id}`;
    expect(seen.slice(1)).toMatchObject([
      { requestId: first.id, reportId: found },
      { requestId: second.id, reportId: "r-1" },
    ]);
    expect(await reports.get(first.id)).toMatchObject({ reportId: found });
  });

  it("reports.settle() changes something in one of two calls, and again once its delivery was discarded", async () => {
    const { receiver, reports, seen, observed, advanceUntil } = askingSetUp();
    let fails = true;
    receiver.on("report.complete", () => {
      if (fails) throw new DoNotRetry("no");
    });
    const { id } = await reports.request(report);
    const both = [reports.settle(id, "complete"), reports.settle(id, "complete")];
    expect((await Promise.all(both)).filter(Boolean)).toHaveLength(1);
    await receiver.start();
    await advanceUntil(() => observed.some(([name]) => name === "parked"));
    expect(await reports.settle(id, "complete")).toBe(false);
    const [dead] = await receiver.inbox.list({ state: "dead" });
    await receiver.inbox.discard(dead?.id ?? "");
    fails = false;
    expect(await reports.settle(id, "complete")).toBe(true);
    await receiver.idle();
    expect(seen).toMatchObject([{ requestId: id }, { requestId: id }]);
  });

  it("reports.settle() has the handlers run once the delivery that brought the end was discarded, also if it was asked before", async () => {
    const { receiver, reports, notify, seen } = askingSetUp();
    let fails = true;
    receiver.on("report.complete", () => {
      if (fails) throw new DoNotRetry("no");
    });
    const { id } = await reports.request(report);
    const dead = await notify("complete");
    await receiver.idle();
    expect(await reports.settle(id, "complete")).toBe(false);
    await receiver.idle();
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 0, dead: 1 });
    await receiver.inbox.discard(dead);
    fails = false;
    expect(await reports.settle(id, "complete")).toBe(true);
    await receiver.idle();
    expect(seen.at(-1)).toMatchObject({ requestId: id, verification: "settled" });
  });

  it("reports.settle() does not say that the service has confirmed the request", async () => {
    const { receiver, reports, notify, failWith } = askingSetUp();
    failWith(statusOf(500));
    const error = await reports.request(report).catch((given: unknown) => given);
    const { requestId: id } = error as { requestId: string };
    expect(await reports.settle(id, "internal_error")).toBe(true);
    expect(await reports.get(id)).toMatchObject({ state: "internal_error", confirmedAt: null });
    await notify("complete");
    await receiver.idle();
    expect((await reports.get(id))?.confirmedAt).not.toBeNull();
  });

  it("reports.settle() tells one of two different ends at once, and its handlers alone run", async () => {
    const { receiver, reports, seen } = askingSetUp();
    const { id } = await reports.request(report);
    const ends = ["complete", "internal_error"] as const;
    const changed = await Promise.all(ends.map((end) => reports.settle(id, end)));
    expect(changed.filter(Boolean)).toHaveLength(1);
    await receiver.start();
    await receiver.idle();
    const state = ends[changed.indexOf(true)];
    expect(await reports.get(id)).toMatchObject({ state });
    expect(seen).toMatchObject([{ type: `report.${state}`, requestId: id }]);
  });

  it("reports.settle() resolves to true when its handlers have run before it could look", async () => {
    const inbox = memoryInbox();
    const { receiver, reports, seen } = askingSetUp({ inbox });
    const { add } = inbox;
    Object.assign(inbox, {
      add: async (...given: Parameters<typeof add>) => {
        const added = await add(...given);
        await turnUntil(() => seen.length > 0);
        return added;
      },
    });
    await receiver.start();
    const { id } = await reports.request(report);
    expect(await reports.settle(id, "complete")).toBe(true);
    expect(await reports.settle(id, "complete")).toBe(false);
    expect(seen).toHaveLength(1);
  });

  it("reports.wait() resolves once the request is settled, and rejects otherwise with a reason", async () => {
    const { receiver, reports, notify, emulator } = askingSetUp();
    const { id } = await reports.request(report);
    const waiting = reports.wait(id);
    await notify("internal_error");
    expect(await waiting).toMatchObject({ id, state: "internal_error" });
    expect(await reports.wait(id)).toMatchObject({ state: "internal_error" });
    await expect(reports.wait("other")).rejects.toMatchObject({ code: "not_found" });
    const open = await reports.request(report);
    const late = reports.wait(open.id, { timeoutMs: 1_000 });
    emulator.clock.advance(1_000);
    await expect(late).rejects.toMatchObject({ code: "wait_timeout" });
    const controller = new AbortController();
    const aborted = reports.wait(open.id, { signal: controller.signal });
    await turns();
    controller.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    const closed = reports.wait(open.id);
    await turns();
    await receiver.close();
    await expect(closed).rejects.toMatchObject({ code: "closed" });
    await expect(reports.request(report)).rejects.toMatchObject({ code: "closed" });
  });

  it("reports.wait() does not look again when another request is settled", async () => {
    const { receiver, reports } = askingSetUp();
    const pause = vi.spyOn(KnownRequests.prototype, "pause");
    onTestFinished(() => pause.mockRestore());
    const { id } = await reports.request(report);
    const settled = reports.wait(id);
    await turnUntil(() => pause.mock.contexts.length > 0);
    const known = pause.mock.contexts[0] as KnownRequests;
    const woken: string[] = [];
    const waitFor = async (of: string) => {
      await known.pause(of, Number.POSITIVE_INFINITY);
      woken.push(of);
    };
    const both = [id, "another"].map(waitFor);
    await reports.settle(id, "complete");
    expect(await settled).toMatchObject({ state: "complete" });
    await both[0];
    expect(woken).toEqual([id]);
    await receiver.close();
    await Promise.all(both);
    expect(woken).toEqual([id, "another"]);
  });

  it("reports.wait() looks again after 250 ms, then less and less often, until another process has settled it", async () => {
    const inbox = memoryInbox();
    const { reports } = askingSetUp({ inbox });
    const { id } = await reports.request(report);
    const pauses: number[] = [];
    const pause = vi.spyOn(KnownRequests.prototype, "pause").mockImplementation(async (_, ms) => {
      pauses.push(ms);
      if (pauses.length === 10) await settle();
    });
    onTestFinished(() => pause.mockRestore());
    const settle = async () => {
      const read = await inbox.requests?.get(id);
      if (!read) throw new Error("The request is gone");
      const settled = { state: "complete", settledAt: 1, version: read.version + 1 } as const;
      await inbox.requests?.replace(read, { ...read, ...settled });
    };
    expect(await reports.wait(id)).toMatchObject({ state: "complete" });
    expect(pauses.slice(0, 2)).toEqual([250, 375]);
    expect(pauses).toEqual(pauses.toSorted((one, other) => one - other));
    expect(pauses.slice(8)).toEqual([5_000, 5_000]);
  });

  it("reports.wait() goes on when the inbox fails meanwhile, and names the failure at its timeout", async () => {
    const inbox = memoryInbox();
    const { reports, notify, receiver, emulator } = askingSetUp({ inbox });
    const [one, other] = [await reports.request(report), await reports.request(report)];
    const pause = vi.spyOn(KnownRequests.prototype, "pause").mockImplementation(() => turns(3));
    onTestFinished(() => pause.mockRestore());
    const { get } = inbox.requests as RequestStore;
    const away = new ReporthookError("inbox_failed", "The server is away");
    const failing = vi.fn().mockRejectedValue(away);
    const waiting = [reports.wait(one.id), reports.wait(other.id, { timeoutMs: 1_000 })];
    await turns(50);
    Object.assign(inbox.requests as RequestStore, { get: failing });
    await turns(50);
    emulator.clock.advance(1_000);
    await expect(waiting[1]).rejects.toMatchObject({ code: "wait_timeout", cause: away });
    await expect(reports.wait(one.id)).rejects.toBe(away);
    Object.assign(inbox.requests as RequestStore, { get });
    await notify("complete");
    expect(await waiting[0]).toMatchObject({ id: one.id, state: "complete" });
    await receiver.close();
  });

  it("reports.request() that is answered after close() opens the inbox no more, and says what stays unconfirmed", async () => {
    const { receiver, reports, hold } = askingSetUp();
    const answer = hold();
    const asking = reports.request(report);
    await turns();
    const [request] = await reports.list();
    await receiver.close({ timeoutMs: 50 });
    answer(Response.json({}));
    await expect(asking).rejects.toMatchObject({ requestId: request?.id, retryable: false });
  });

  it("a settled request is kept as long as handled deliveries, and its key with it", async () => {
    const { emulator, receiver, reports, notify } = askingSetUp();
    const { id } = await reports.request(report, { idempotencyKey: "k" });
    await notify("complete");
    await receiver.idle();
    emulator.clock.advance(7 * day - 60_000);
    expect((await reports.get(id))?.id).toBe(id);
    emulator.clock.advance(day);
    expect(await reports.get(id)).toBeNull();
    const other = { domains: ["other.example"] };
    expect((await reports.request(other, { idempotencyKey: "k" })).id).not.toBe(id);
  });
});
