import {
  durableInbox,
  gate,
  setUp,
  turns,
  turnUntil,
} from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import { messages } from "./log-messages.ts";

describe("serverless requests", () => {
  it("waitUntil() lasts until the outcome is recorded", async () => {
    const { receiver, emulator, seeAll } = setUp();
    seeAll();
    const waiting: Promise<unknown>[] = [];
    await receiver.fetch(new Request("http://localhost", emulator.notification("report")), {
      waitUntil: (promise) => void waiting.push(promise),
    });
    await Promise.all(waiting);
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
    const { receiver, emulator, seen, lines } = setUp();
    receiver.on("*", (event) => {
      seen.push(event);
      return finish.opened;
    });
    const post = (name: "report" | "unknown", waitUntil: (promise: Promise<unknown>) => void) =>
      receiver.fetch(new Request("http://localhost", emulator.notification(name)), { waitUntil });
    let done = false;
    let given = 0;
    const wait = (promise: Promise<unknown>): void => {
      given++;
      void promise.then(() => {
        done = true;
      });
    };
    const answer = post("report", wait);
    expect(given).toBe(1);
    expect((await answer).status).toBe(200);
    await turnUntil(() => seen.length === 1);
    expect(done).toBe(false);
    finish.open();
    await turnUntil(() => done);

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
    let done = false;
    await receiver.fetch(new Request("http://localhost", { method: "POST", ...init }), {
      waitUntil: (promise) => void promise.then(() => (done = true)),
    });
    await turns();
    expect(done).toBe(true);
  });

  it("waitUntil() is over with the answer to a duplicate of what still waits", async () => {
    const { receiver } = setUp({ client: { authorize: () => new Promise(() => {}) } });
    const done: boolean[] = [false, false];
    const answers = done.map(async (_, place) => {
      const headers = { "X-svc-authorization": "s" };
      const init = { method: "POST", body: "{}", headers };
      const response = await receiver.fetch(new Request("http://localhost", init), {
        waitUntil: (promise) => void promise.then(() => (done[place] = true)),
      });
      return ((await response.json()) as { status: string }).status;
    });
    expect(await Promise.all(answers)).toEqual(["accepted", "duplicate"]);
    await turns();
    expect(done).toEqual([false, true]);
  });

  it("waitUntil() is over with the answer when all is handled before it", async () => {
    const { receiver, emulator, seen, seeAll } = setUp({ ack: "handled" });
    seeAll();
    let done = false;
    const sent = new Request("http://localhost", emulator.notification("report"));
    const answer = await receiver.fetch(sent, {
      waitUntil: (promise) => void promise.then(() => (done = true)),
    });
    await turns();
    expect([answer.status, seen.length, done]).toEqual([200, 1, true]);
  });

  it("waitUntil() lasts until the attempt when the first authorize call gives no verdict", async () => {
    const { receiver, emulator, seen, seeAll, advanceUntil } = setUp();
    seeAll();
    emulator.fault("authorize", { status: 503, times: 1 });
    let done = false;
    await receiver.fetch(new Request("http://localhost", emulator.notification("report")), {
      waitUntil: (promise) => void promise.then(() => (done = true)),
    });
    while ((await receiver.inbox.list())[0]?.attempts !== 1) await turns(1);
    await turns();
    expect([done, seen.length]).toEqual([false, 0]);
    await advanceUntil(() => done);
    expect(seen).toHaveLength(1);
  });

  it("waitUntil() ends when the receiver closes before the delivery was handled", async () => {
    const { receiver, emulator } = setUp({ inbox: durableInbox() });
    emulator.fault("authorize", { status: 503 });
    let done = false;
    await receiver.fetch(new Request("http://localhost", emulator.notification("report")), {
      waitUntil: (promise) => void promise.then(() => (done = true)),
    });
    await turnUntil(async () => (await receiver.inbox.list())[0]?.attempts === 1);
    await turns();
    expect(done).toBe(false);
    await receiver.close();
    await turns();
    expect(done).toBe(true);
  });

  it("waitUntil() on Cloudflare Workers lasts until what came beside it is handled, too", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    onTestFinished(() => void vi.unstubAllGlobals());
    const finish = gate();
    const { receiver, emulator, seen } = setUp({ inbox: memoryInbox({ acceptLoss: true }) });
    receiver.on("*", (event) => {
      seen.push(event);
      return seen.length === 1 ? finish.opened : undefined;
    });
    const done: number[] = [];
    for (const place of [1, 2]) {
      await receiver.fetch(new Request("http://localhost", emulator.notification("report")), {
        waitUntil: (promise) => void promise.then(() => done.push(place)),
      });
      await turnUntil(() => seen.length === place);
    }
    await turnUntil(async () => (await receiver.inbox.counts()).handled === 1);
    await turns();
    expect(done).toEqual([]);
    finish.open();
    await turnUntil(() => done.length === 2);
  });
});
