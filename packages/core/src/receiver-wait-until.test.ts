import {
  durableInbox,
  gate,
  hasSettled,
  never,
  setUp,
  turnUntil,
} from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import { messages } from "./log-messages.ts";
import type { Receiver } from "./receiver-type.ts";

/** Sends a request; `waiting` is what its `waitUntil` was given. */
async function fetchWith(
  receiver: Receiver,
  init: RequestInit,
): Promise<{ readonly response: Response; readonly waiting: Promise<unknown> }> {
  const given: Promise<unknown>[] = [];
  const response = await receiver.fetch(
    new Request("http://localhost", { method: "POST", ...init }),
    { waitUntil: (promise) => void given.push(promise) },
  );
  expect(given).toHaveLength(1);
  return { response, waiting: Promise.all(given) };
}

describe("serverless requests", () => {
  it("waitUntil() lasts until the outcome is recorded", async () => {
    const { receiver, emulator, seeAll } = setUp();
    seeAll();
    await (await fetchWith(receiver, emulator.notification("report"))).waiting;
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 1, verified: 0 });
  });

  it("waitUntil() is found where the bindings come second, as in a Workers module", async () => {
    const { receiver, emulator, seeAll } = setUp();
    seeAll();
    const waiting: Promise<unknown>[] = [];
    const context = {
      waitUntil(promise: Promise<unknown>) {
        expect(this).toBe(context);
        waiting.push(promise);
      },
    };
    const worker = { fetch: receiver.fetch };
    const sent = () => new Request("http://localhost", emulator.notification("report"));
    for (const bindings of [{}, { waitUntil: "a secret" }, undefined]) {
      await worker.fetch(sent(), bindings as object, context);
    }
    await Promise.all(waiting);
    expect(waiting).toHaveLength(3);
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 3 });
  });

  it("waitUntil() is given a promise of the first attempt, and may fail", async () => {
    const finish = gate();
    const { receiver, emulator, seen, seeAll, lines } = setUp();
    seeAll(() => finish.opened);
    const post = (name: "report" | "unknown", waitUntil: (promise: Promise<unknown>) => void) =>
      receiver.fetch(new Request("http://localhost", emulator.notification(name)), { waitUntil });
    const given: Promise<unknown>[] = [];
    const answer = post("report", (promise) => void given.push(promise));
    expect(given).toHaveLength(1);
    expect((await answer).status).toBe(200);
    await turnUntil(() => seen.length === 1);
    expect(await hasSettled(Promise.all(given))).toBe(false);
    finish.open();
    await Promise.all(given);

    const fail = (): never => {
      throw new TypeError("Illegal invocation");
    };
    for (const waitUntil of [fail, async () => fail()]) {
      expect((await post("report", waitUntil)).status).toBe(200);
      await receiver.idle();
      emulator.clock.advance(60_000);
    }
    const failed = lines.filter(({ message }) => message === messages.waitUntilFailed);
    const line = { level: "error", fields: { error: "TypeError: Illegal invocation" } };
    expect(failed).toMatchObject([line, line]);
  });

  it.each([
    ["is refused", {}, { method: "GET" }],
    ["is held", {}, { body: "{}", headers: { "content-type": "application/json" } }],
    ["is not worked on here", { autostart: false }, { headers: { "X-svc-authorization": "s" } }],
    ["is forged", {}, { headers: { "X-svc-authorization": "s" } }],
  ])("waitUntil() is not kept waiting by a delivery that %s", async (_, options, init) => {
    const { receiver } = setUp(options);
    const { waiting } = await fetchWith(receiver, init);
    expect(await hasSettled(waiting)).toBe(true);
  });

  it("waitUntil() is over with the answer to a duplicate of what still waits", async () => {
    const { receiver } = setUp({ client: { authorize: never } });
    const init = { body: "{}", headers: { "X-svc-authorization": "s" } };
    for (const status of ["accepted", "duplicate"]) {
      const { response, waiting } = await fetchWith(receiver, init);
      expect(await response.json()).toMatchObject({ status });
      expect(await hasSettled(waiting)).toBe(status === "duplicate");
    }
  });

  it("waitUntil() is over with the answer when all is handled before it", async () => {
    const { receiver, emulator, seen, seeAll } = setUp({ ack: "handled" });
    seeAll();
    const { response, waiting } = await fetchWith(receiver, emulator.notification("report"));
    expect(await hasSettled(waiting)).toBe(true);
    expect([response.status, seen.length]).toEqual([200, 1]);
  });

  it("waitUntil() lasts until the attempt when the first authorize call gives no verdict", async () => {
    const { receiver, emulator, seen, seeAll, advanceUntil } = setUp();
    seeAll();
    emulator.fault("authorize", { status: 503, times: 1 });
    const { waiting } = await fetchWith(receiver, emulator.notification("report"));
    await turnUntil(async () => (await receiver.inbox.list())[0]?.attempts === 1);
    expect(await hasSettled(waiting)).toBe(false);
    expect(seen).toEqual([]);
    await advanceUntil(() => seen.length === 1);
    await waiting;
  });

  it("waitUntil() ends when the receiver closes before the delivery was handled", async () => {
    const { receiver, emulator } = setUp({ inbox: durableInbox() });
    emulator.fault("authorize", { status: 503 });
    const { waiting } = await fetchWith(receiver, emulator.notification("report"));
    await turnUntil(async () => (await receiver.inbox.list())[0]?.attempts === 1);
    expect(await hasSettled(waiting)).toBe(false);
    await receiver.close();
    await waiting;
  });

  it("waitUntil() on Cloudflare Workers lasts until what came beside it is handled, too", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    onTestFinished(() => void vi.unstubAllGlobals());
    const finish = gate();
    const inbox = memoryInbox({ acceptLoss: true });
    const { receiver, emulator, seen, seeAll } = setUp({ inbox });
    seeAll(() => seen.length === 1 && finish.opened);
    const all: Promise<unknown>[] = [];
    for (const place of [1, 2]) {
      all.push((await fetchWith(receiver, emulator.notification("report"))).waiting);
      await turnUntil(() => seen.length === place);
    }
    await turnUntil(async () => (await receiver.inbox.counts()).handled === 1);
    expect(await hasSettled(Promise.race(all))).toBe(false);
    finish.open();
    await Promise.all(all);
  });
});
