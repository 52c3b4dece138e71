import { inspect } from "node:util";
import { setUp, turns, turnUntil } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Authorizer } from "../client/authorizer.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { loggerOf, oncePerMinute } from "../lib/log.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverOptions } from "../options/receiver-options.ts";
import { Callbacks } from "./callback-url.ts";

const secret = "0123456789abcdef0123456789abcdef";
const older = "fedcba9876543210fedcba9876543210";
const base = "https://app.example/webhooks/reports";
const customer = { customer: "c-1" };
const callbacks = (secrets: readonly string[], require = false) =>
  new Callbacks(
    { secrets, require },
    "reports",
    oncePerMinute(manualClock(), loggerOf("reports", {})),
  );
const pathOf = (url: string) => url.slice(new URL(url).origin.length).split("#")[0] ?? "";

function make(options: Partial<ReceiverOptions> = {}, secrets: readonly string[] = [secret]) {
  const setup = setUp({ callback: { secrets }, ...options });
  const { emulator, post } = setup;
  setup.seeAll();
  const sendTo = (url: string, notification = emulator.notification("report.complete")) =>
    post(notification, url);
  return { ...setup, sendTo };
}

describe("making", () => {
  it("callbackUrl() keeps the base's query and hash, and its context comes with the event", async () => {
    for (const [query, hash] of [
      ["", ""],
      ["?a=1&b=%20+x", "#top"],
    ]) {
      const { receiver, seen, sendTo } = make();
      const url = await receiver.callbackUrl(`${base}${query}${hash}`, { context: customer });
      expect(url.startsWith(`${base}${query}`)).toBe(true);
      expect(url.endsWith(hash ?? "")).toBe(true);
      await sendTo(url);
      await receiver.idle();
      expect(seen).toMatchObject([{ type: "report.complete", context: customer }]);
    }
  });

  it("callbackUrl() makes a token that is found among other parameters, behind any host and prefix", async () => {
    const word = fc.stringMatching(/^[\w%~]{1,8}$/);
    const short = fc
      .json()
      .map((json) => JSON.stringify(JSON.parse(json)))
      .filter((json) => Buffer.byteLength(json) <= 60);
    const parameters = fc.array(fc.tuple(word, word).map((pair) => pair.join("=")));
    await fc.assert(
      fc.asyncProperty(parameters, parameters, short, async (before, after, json) => {
        const made = callbacks([secret]);
        const { search } = new URL(await made.url(base, JSON.parse(json)));
        const query = [...before, search.slice(1), ...after].join("&");
        const rest = [...before, ...after].join("&");
        const called = await made.verify(`/prefix/hook?${query}`);
        expect(called?.url).toBe(rest === "" ? "/prefix/hook" : `/prefix/hook?${rest}`);
        expect(JSON.parse(called?.context ?? "")).toEqual(JSON.parse(json));
      }),
    );
  });

  it("callbackUrl() is at most 255 characters for a base of 110 and a context of 60 bytes, and refuses more", async () => {
    const made = callbacks([secret]);
    const url = (...given: Parameters<typeof made.url>) => made.url(...given);
    const long = `https://app.example/${"p".repeat(90)}`;
    const context = { customer: "x".repeat(45) };
    expect([long.length, JSON.stringify(context).length]).toEqual([110, 60]);
    expect((await url(long, context)).length).toBeLessThanOrEqual(255);
    const refused = await url(long, { customer: "x".repeat(60) }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TypeError);
    expect(String(refused)).toMatch(/is too long: \d+ characters with its token, of 255$/);
    expect(String(refused)).not.toContain("xxx");
    const huge = url(long, "x".repeat(300_000));
    await expect(huge).rejects.toThrow(TypeError);
    await expect(huge).rejects.toThrow("context is 300002 characters of JSON");
  });

  it("callbackUrl() rejects a wrong base or context, and without the option callback", async () => {
    const made = callbacks([secret]);
    const url = (...given: Parameters<typeof made.url>) => made.url(...given);
    for (const wrong of ["", "/hook", "ftp://app.example", "https://", "app.example", undefined]) {
      await expect(url(wrong as string, 1)).rejects.toThrow("base must be an absolute http(s) URL");
    }
    const href = "as text: give the href of the URL object";
    const address = new URL(base) as unknown as string;
    await expect(url(address, 1)).rejects.toThrow(href);
    expect(() => setUp({ callback: { secrets: [secret], url: address } })).toThrow(href);
    await expect(url(await url(base, 1), 2)).rejects.toThrow("carries a callback_token already");
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const wrong of [() => {}, 1n, cycle, Promise.resolve(customer), { id: new Set() }]) {
      await expect(url(base, wrong)).rejects.toThrow("callbackUrl: context must be something that");
    }
    const way = "give createReceiver callback: { secrets: [secret] }";
    await expect(setUp().receiver.callbackUrl(base)).rejects.toThrow(way);
    const { receiver } = setUp({ callback: { secrets: [secret] } });
    for (const options of [null, 5, "x", [], { customer: 1 }]) {
      await expect(receiver.callbackUrl(base, options as never)).rejects.toThrow(TypeError);
    }
  });
});

describe("receiving", () => {
  it('a request to a callback URL has its context also in authorize, before-ack and with ack: "handled"', async () => {
    for (const options of [{}, { verify: "before-ack" }, { ack: "handled" }] as const) {
      const asked: unknown[] = [];
      const client: Authorizer = {
        async authorize(_, given) {
          asked.push(given?.delivery);
          return "valid";
        },
      };
      const { receiver, seen, sendTo } = make({ client, ...options });
      await sendTo(await receiver.callbackUrl(`${base}?a=1`, { context: customer }));
      await receiver.idle();
      expect(asked).toMatchObject([{ url: "/webhooks/reports?a=1", context: customer }]);
      expect(seen).toMatchObject([{ context: customer }]);
    }
  });

  it("a request to a callback URL is answered in time, and close() ends, while crypto never answers", async () => {
    const { emulator, receiver, lines, sendTo } = make();
    const url = await receiver.callbackUrl(base);
    const verify = vi.spyOn(crypto.subtle, "verify").mockReturnValue(new Promise(() => {}));
    const answer = sendTo(url);
    await turns();
    emulator.clock.advance(4_000);
    expect((await answer).status).toBe(503);
    verify.mockRestore();
    expect(lines).toContainEqual(expect.objectContaining({ message: messages.requestFailed }));
    await receiver.close();
  });

  it("the token of a callback URL is not stored either where the option is left out", async () => {
    const asked: unknown[] = [];
    const client: Authorizer = {
      async authorize(_, given) {
        asked.push(given?.delivery?.url);
        return "valid";
      },
    };
    const { receiver, sendTo } = make({ client, callback: undefined });
    const url = await callbacks([secret]).url(`${base}?a=1`, customer);
    await sendTo(url);
    await receiver.idle({ timeoutMs: 60_000 });
    expect(asked).toEqual(["/webhooks/reports?a=1"]);
  });

  it("a callback URL works with the previous secret, and without a context", async () => {
    const { receiver, seen, sendTo, lines } = make({}, [secret, older]);
    await sendTo(await callbacks([older]).url(base, customer));
    await sendTo(await receiver.callbackUrl(base));
    await sendTo(await receiver.callbackUrl(base, { context: null as unknown as object }));
    await receiver.idle();
    expect(seen.map((event) => ("context" in event ? event.context : "none"))).toEqual([
      customer,
      "none",
      null,
    ]);
    expect(lines).toEqual([]);
  });

  it("a request to a callback URL never counts as verified by its token alone", async () => {
    const { emulator, receiver, seen, sendTo } = make();
    const url = await receiver.callbackUrl(base, { context: customer });
    await sendTo(url, emulator.notification("report.complete", { signature: "invalid" }));
    await sendTo(url, emulator.notification("report.complete", { signature: "none" }));
    await receiver.idle();
    expect(seen).toEqual([]);
    expect(await receiver.inbox.counts()).toMatchObject({ rejected: 1, held: 1 });
  });

  it("a request with a missing or wrong token has no context, and one line a minute says so", async () => {
    const { emulator, receiver, seen, sendTo, lines } = make();
    // It may be refused yet, as while the inbox fails.
    const message = "Request without a valid callback token: its event has no context.";
    const wrong = await callbacks([older]).url(base, customer);
    for (const url of [wrong, base, wrong]) await sendTo(url);
    await receiver.idle();
    expect(seen.map((event) => "context" in event)).toEqual([false, false, false]);
    expect(lines).toMatchObject([
      { level: "warn", message, fields: { token: "invalid", count: 1 } },
    ]);
    emulator.clock.advance(60_000);
    await sendTo(base);
    expect(lines[1]).toMatchObject({ fields: { token: "missing", count: 3 } });
  });

  it("an unsigned request with require is 404 before its body is read, alike for a missing and a wrong token", async () => {
    const { receiver, sendTo, lines } = make({ callback: { secrets: [secret], require: true } });
    const answer = receiver.mount();
    const answers: unknown[] = [];
    for (const url of [base, `${base}?callback_token=`, await callbacks([older]).url(base, 1)]) {
      const incoming = { method: "POST", url: pathOf(url), headers: {} };
      const readBody = () => expect.fail("The body is read");
      answers.push(await answer({ ...incoming, readBody }));
    }
    expect(answers[0]).toMatchObject({ status: 404 });
    expect(JSON.parse((answers[0] as { body: string }).body)).toMatchObject({ code: "not_found" });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(lines).toMatchObject([{ fields: { token: "missing" } }]);
    const { status } = await sendTo(await receiver.callbackUrl(base, { context: customer }));
    expect(status).toBe(200);
  });

  it.each([
    ["asked about", { autostart: false }],
    ["handled", { retry: { attempts: 9 } }],
  ] as const)(
    "a report that was stored before require was set, and waits to be %s, is held without its token",
    async (_step, before) => {
      const inbox = memoryInbox();
      const old = setUp({ inbox, ...before });
      old.receiver.on("*", () => Promise.reject(new Error("not yet")));
      await old.send("report.complete");
      await turns();
      await old.receiver.close({ timeoutMs: 0 });
      const callback = { secrets: [secret], require: true };
      const now = make({ inbox, callback, ...old.world });
      await now.receiver.start();
      while (inbox.backlog("reports").waiting > 0) {
        await turns();
        await now.pass(1_000);
      }
      expect(now.seen).toEqual([]);
      const held = { state: "held", reason: { code: "no_token" } };
      expect(await now.receiver.inbox.list()).toMatchObject([held]);
      await now.receiver.inbox.release({ reason: "no_token" });
      await turnUntil(() => now.seen.length === 1);
    },
  );

  it("a token made for a request is known from the receipt on, and is valid where one is required", async () => {
    const callback = { secrets: [secret], require: true };
    const { emulator, receiver, sendTo } = make({ callback });
    const url = await callbacks([secret]).urlOfRequest(base, "01m7");
    const forged = emulator.notification("report.complete", { signature: "invalid" });
    for (const notification of [undefined, forged]) {
      const { status, body } = await sendTo(url, notification);
      expect(status).toBe(200);
      expect(await receiver.inbox.get(body.id)).toMatchObject({
        requestId: "01m7",
        context: null,
        url: "/webhooks/reports",
      });
    }
    const other = await callbacks([secret]).url(base, "01m7");
    const { body } = await sendTo(other);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ requestId: null, context: "01m7" });
    expect(await receiver.inbox.list({ requestId: "01m7" })).toHaveLength(2);
  });

  it("a callback URL gives no context to another receiver with the same secrets", async () => {
    const { receiver, sendTo } = make({
      name: "a",
      callback: { secrets: [secret], require: true },
    });
    const other = make({ name: "b" });
    await other.sendTo(await receiver.callbackUrl(base, { context: customer }));
    await other.receiver.idle();
    expect(other.seen.map((event) => "context" in event)).toEqual([false]);
    await sendTo(await other.receiver.callbackUrl(base, { context: customer }));
    await receiver.idle();
    expect(await receiver.inbox.list()).toMatchObject([{ reason: { code: "no_token" } }]);
  });

  it("a request to a callback URL is a duplicate only with the same token", async () => {
    const { emulator, receiver, sendTo } = make();
    const notification = emulator.notification("report.complete");
    const url = await receiver.callbackUrl(base, { context: customer });
    const first = await sendTo(url, notification);
    expect((await sendTo(url, notification)).body).toEqual({ ...first.body, status: "duplicate" });
    const other = await receiver.callbackUrl(base, { context: { customer: "c-2" } });
    expect((await sendTo(other, notification)).body).toMatchObject({ status: "accepted" });
  });

  it("the token of a callback URL is read and removed also where its name is percent-encoded", async () => {
    const { receiver, seen, sendTo } = make();
    const url = await receiver.callbackUrl(base, { context: customer });
    const { body } = await sendTo(url.replace("callback_token", "%=1&%zz&callback%5Ftoken"));
    await receiver.idle();
    expect(seen).toMatchObject([{ context: customer }]);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ url: "/webhooks/reports?%=1&%zz" });
  });

  it("the token of a callback URL is in no log, hook, entry or store", async () => {
    const inbox = memoryInbox();
    const stored: unknown[] = [];
    const add: typeof inbox.add = (delivery, arrival) => {
      stored.push(delivery);
      return inbox.add(delivery, arrival);
    };
    const watched = new Proxy(inbox, {
      get: (target, name) => {
        const value: unknown = name === "add" ? add : Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const { emulator, receiver, sendTo, lines, observed, seen } = make({ inbox: watched });
    const tokens: string[] = [];
    for (const signature of ["valid", "invalid", "expired", "none"] as const) {
      for (const made of [callbacks([secret]), callbacks([older])]) {
        const address = await made.url(base, { signature });
        tokens.push(new URL(address).searchParams.get("callback_token") ?? "");
        await sendTo(address, emulator.notification("report.complete", { signature }));
      }
    }
    emulator.fault("authorize", { status: 500 });
    await sendTo(await receiver.callbackUrl(base, { context: 1 }));
    await turns();
    const entries = await receiver.inbox.list();
    const details = await Promise.all(entries.map(({ id }) => receiver.inbox.get(id)));
    const everything = [lines, observed, seen, entries, details, stored, receiver];
    const shown = inspect(everything, { depth: 20, maxStringLength: null });
    expect(stored).toHaveLength(9);
    expect(tokens).toHaveLength(8);
    for (const token of tokens) expect(shown).not.toContain(token.split(".")[2]);
    expect(shown).not.toContain("callback_token");
    for (const text of [secret, older]) expect(shown).not.toContain(text);
  });
});
