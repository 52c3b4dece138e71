import {
  durableInbox,
  gate,
  hasSettled,
  never,
  setUp,
  slowRequest,
  turns,
  turnUntil,
} from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RetryAfter } from "./errors.ts";
import type { ReceiveResult } from "./http/answer.ts";
import type { Incoming } from "./http/incoming.ts";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import { messages } from "./log-messages.ts";
import { type Instrumentation, instrumentation } from "./observe/instrumentation.ts";

const genuine = { authorize: async () => "valid" as const };

describe("closing", () => {
  it("close() counts the deliveries that are lost with a memory inbox, and none with a durable one", async () => {
    for (const [inbox, said] of [
      [memoryInbox(), [{ level: "error", fields: { receiver: "reports", waiting: 2 } }]],
      [durableInbox(), []],
    ] as const) {
      const { receiver, send, lines } = setUp({ inbox, autostart: false });
      for (let sent = 0; sent < 2; sent++) await send("report");
      await receiver.close();
      const told = lines.filter(({ message }) => message === messages.closedWhileWaiting);
      expect(told).toMatchObject(said);
      expect(told).toHaveLength(said.length);
    }
  });

  it.each([
    ["a memory inbox, whose deliveries it also handles", memoryInbox, 2],
    ["a durable inbox, whose deliveries another process handles", durableInbox, 1],
  ])("close() lets a receiver store until the handlers end: %s", async (_, makeInbox, runs) => {
    const finish = gate();
    const { receiver, send, seen, seeAll } = setUp({ inbox: makeInbox() });
    seeAll(() => finish.opened);
    await send("report");
    await turnUntil(() => seen.length === 1);
    const closing = ["first", "second"].map(() => receiver.close());
    const taken = await send("report");
    expect([taken.status, taken.headers.get("connection")]).toEqual([200, "close"]);
    expect(await hasSettled(Promise.race(closing))).toBe(false);
    expect(seen).toHaveLength(runs);
    finish.open();
    await Promise.all(closing);
    const refused = await send("report");
    expect(refused).toMatchObject({ status: 503, body: { code: "closing" } });
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect(refused.headers.get("connection")).toBe("close");
  });

  it.each([
    ["a memory inbox", memoryInbox],
    ["a durable inbox", durableInbox],
  ])("close() of an idle receiver waits for no timer: %s", async (_, makeInbox) => {
    const { receiver, send, seeAll } = setUp({ inbox: makeInbox() });
    seeAll();
    await send("report");
    await receiver.idle();
    // Of the given clock, none comes due either.
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await receiver.close();
  });

  it("close() has all handled that a memory inbox has acknowledged", async () => {
    const { receiver, send, lines } = setUp({ concurrency: { handle: 2 } });
    let handled = 0;
    receiver.on("*", async () => {
      await turns(1);
      handled++;
    });
    for (let sent = 0; sent < 40; sent++) await send("report");
    expect(handled).toBeLessThan(40);
    await receiver.close();
    expect([handled, lines]).toEqual([40, []]);
  });

  it("close() tries deliveries that wait in memory once more, at once, and counts those that fail again", async () => {
    const { receiver, send, lines, observed } = setUp();
    const attempts: Record<string, number> = {};
    receiver.on("report.complete", ({ id }) => {
      attempts[id] = (attempts[id] ?? 0) + 1;
      if (attempts[id] === 1) throw new RetryAfter(3_600_000);
    });
    receiver.on("report.internal_error", ({ id }) => {
      attempts[id] = (attempts[id] ?? 0) + 1;
      throw new Error("not today");
    });
    await send("report.complete");
    for (let sent = 0; sent < 2; sent++) await send("report.internal_error");
    await turnUntil(() => observed.filter(([hook]) => hook === "failed").length === 3);
    await receiver.close();
    expect(Object.values(attempts)).toEqual([2, 2, 2]);
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { message: messages.closedWhileWaiting, fields: { waiting: 2 } },
    ]);
  });

  it("close() makes all due in one act that wait in memory, also those that begin meanwhile", async () => {
    const inbox = memoryInbox();
    const { receiver, send } = setUp({ inbox, concurrency: { handle: 1 } });
    const fail = gate();
    const attempts: Record<string, number> = {};
    receiver.on("*", async ({ id }) => {
      attempts[id] = (attempts[id] ?? 0) + 1;
      if (Object.keys(attempts).length > 50) await fail.opened;
      throw new RetryAfter(3_600_000);
    });
    for (let sent = 0; sent < 100; sent++) await send("report");
    await turnUntil(() => Object.keys(attempts).length === 51);
    const act = vi.spyOn(inbox, "act");
    const closing = receiver.close();
    await turns();
    fail.open();
    await closing;
    expect(Object.values(attempts)).toEqual(new Array(100).fill(2));
    // The second is for the one that ran already.
    expect(act).toHaveBeenCalledTimes(2);
  });

  it("close() keeps waitUntil of a request that comes meanwhile no longer than storing it", async () => {
    const finish = gate();
    const { receiver, send, emulator, seen, seeAll } = setUp({ inbox: durableInbox() });
    seeAll(() => finish.opened);
    await send("report");
    await turnUntil(() => seen.length === 1);
    const closing = receiver.close();
    const waiting: Promise<unknown>[] = [];
    const request = new Request("http://localhost", emulator.notification("report"));
    const { status } = await receiver.fetch(request, {
      waitUntil: (promise) => void waiting.push(promise),
    });
    expect([status, waiting.length]).toEqual([200, 1]);
    expect(await hasSettled(Promise.all(waiting))).toBe(true);
    expect(seen).toHaveLength(1);
    finish.open();
    await closing;
  });

  it.each([
    ["is stored and handled with a memory inbox", {}],
    ["is stored with a durable inbox", { inbox: durableInbox() }],
    ['is handled with ack: "handled"', { ack: "handled" }],
  ] as const)("a request whose body arrives after close() %s", async (name, options) => {
    const { receiver, observed, seen, seeAll } = setUp({ ...options, client: genuine });
    seeAll();
    const arrival = gate();
    const answer = receiver.fetch(slowRequest(arrival.opened, '{"status":"complete"}'));
    await turns();
    const closing = receiver.close();
    arrival.open();
    expect((await answer).status).toBe(200);
    await closing;
    const hook = "ack" in options ? "handled" : "acknowledged";
    expect(observed.map(([one]) => one)).toContain(hook);
    expect(seen).toHaveLength(name.includes("handled") ? 1 : 0);
  });

  it("close() aborts the signal at the timeout, and does not count that attempt", async () => {
    const inbox = memoryInbox();
    const close = vi.spyOn(inbox, "close").mockResolvedValue();
    const first = setUp({ inbox });
    const signals: AbortSignal[] = [];
    first.receiver.on("*", (_, { signal }) => {
      signals.push(signal);
      return never();
    });
    const { body } = await first.send("report");
    await turnUntil(() => signals.length === 1);
    const closing = first.receiver.close({ timeoutMs: 5_000 });
    await turns();
    await first.pass(4_500);
    expect(signals[0]?.aborted).toBe(false);
    first.emulator.clock.advance(500);
    await closing;
    expect(signals[0]?.aborted).toBe(true);
    expect(close).toHaveBeenCalledTimes(1);
    expect(await inbox.get(body.id)).toMatchObject({ state: "verified", attempts: 0 });
    expect(first.observed.map(([name]) => name)).toEqual(["acknowledged", "verified"]);

    const second = setUp({ inbox });
    const attempts: number[] = [];
    second.receiver.on("*", (_, { attempt }) => void attempts.push(attempt));
    await second.receiver.start();
    await second.receiver.idle();
    expect(attempts).toEqual([1]);
  });

  it("close() counts the deliveries whose handlers it interrupts when the inbox keeps them", async () => {
    const { receiver, send, lines, emulator, seen, seeAll } = setUp({ inbox: durableInbox() });
    seeAll(never);
    for (let sent = 0; sent < 2; sent++) await send("report");
    await turnUntil(() => seen.length === 2);
    const closing = receiver.close({ timeoutMs: 5_000 });
    await turns();
    emulator.clock.advance(5_000);
    await closing;
    expect(lines).toMatchObject([
      { level: "warn", message: messages.interrupted, fields: { running: 2 } },
    ]);
  });

  it("close() counts what is lost at the timeout with a memory inbox, what runs included", async () => {
    const { receiver, send, lines, emulator, seen, seeAll, pass } = setUp({
      concurrency: { handle: 2 },
    });
    seeAll(never);
    for (let sent = 0; sent < 5; sent++) await send("report");
    await turnUntil(() => seen.length === 2);
    const closing = receiver.close({ timeoutMs: 5_000 });
    await turns();
    await pass(4_999);
    expect(lines).toEqual([]);
    emulator.clock.advance(1);
    await closing;
    expect(lines).toMatchObject([
      { level: "error", message: messages.closedWhileWaiting, fields: { waiting: 5 } },
    ]);
  });

  it("close() resolves in time when the inbox never opens", async () => {
    const inbox = Object.assign(memoryInbox(), { open: never });
    const { receiver } = setUp({ inbox }, "runs");
    void receiver.start();
    await receiver.close({ timeoutMs: 1 });
  });

  it.each([Number.NaN, -1, "5", null])("close() and idle() reject a time of %j", async (given) => {
    const { receiver } = setUp();
    const timeoutMs = given as number;
    for (const call of ["close", "idle"] as const) {
      const refused = `${call}: timeoutMs must be milliseconds from 0, not `;
      await expect(receiver[call]({ timeoutMs })).rejects.toThrow(refused);
    }
    expect((await receiver.health()).ready).toBe(true);
  });

  it.each<[unknown, string]>([
    [{ timeout: 5_000 }, "timeout is no option; these are: timeoutMs"],
    [5_000, "options must be an object, not 5000"],
  ])("idle() rejects the options %j", async (given, said) => {
    const { receiver } = setUp();
    await expect(receiver.idle(given as object)).rejects.toThrow(`idle: ${said}`);
  });

  it.each<unknown>(["SIGTERM", null, { id: "of a test" }])(
    "close() as the listener of an event ignores its argument %j",
    async (given) => {
      const { receiver } = setUp();
      await receiver.close(given as object);
      await expect(receiver.start()).rejects.toMatchObject({ code: "closed" });
    },
  );

  it("close() goes on without an inbox that gives no answer, and says so", async () => {
    const closed = gate();
    const inbox = Object.assign(memoryInbox(), {
      consume: () => ({ stop: never, abort: never, running: 1 }),
      close: () => closed.opened,
    });
    const clock = manualClock();
    const { receiver, pass } = setUp({ inbox, clock });
    await receiver.start();
    const closing = receiver.close({ timeoutMs: 5_000 });
    const ended = expect(closing).rejects.toThrow("could not be closed: it gives no answer");
    for (const ms of [5_000, 2_000, 2_000]) {
      await pass(ms);
    }
    await ended;
    closed.open();
    expect(setUp({ inbox }).receiver.name).toBe("reports");
  });

  it("close() gives an inbox that is slow to close the rest of its time", async () => {
    const closed = gate();
    const inbox = Object.assign(memoryInbox(), { close: () => closed.opened });
    const clock = manualClock();
    const { receiver, pass } = setUp({ inbox, clock });
    const closing = receiver.close({ timeoutMs: 60_000 });
    await turns();
    await pass(59_000);
    closed.open();
    await closing;
    expect(clock.pending).toBe(0);
  });

  it("close() of the last receiver closes the inbox; from then on the inbox is asked no more", async () => {
    const inbox = memoryInbox();
    const close = vi.spyOn(inbox, "close");
    const [first, second] = [setUp({ inbox, name: "a" }), setUp({ inbox, name: "b" })];
    await first.receiver.close();
    expect(close).not.toHaveBeenCalled();
    const { inbox: closed } = first.receiver;
    const asks = [closed.list(), closed.get("a"), closed.counts(), closed.release("a")];
    for (const asked of [...asks, first.receiver.idle()]) {
      await expect(asked).rejects.toMatchObject({ code: "closed" });
    }
    await second.receiver.inbox.counts();
    await second.receiver.close();
    expect(close).toHaveBeenCalledTimes(1);
  });

  it("close() waits for no delivery that waits for the key's probe", async () => {
    const { receiver, send, emulator, pass } = setUp();
    emulator.fault("authorize", { status: 401 });
    for (let sent = 0; sent < 20; sent++) await send("report");
    await turns();
    await pass(1_000);
    await receiver.close();
  });

  it("close() waits as long as it is told, even without end", async () => {
    const finish = gate();
    const { receiver, send, pass } = setUp();
    const signals: AbortSignal[] = [];
    receiver.on("*", (_, { signal }) => {
      signals.push(signal);
      return finish.opened;
    });
    await send("report");
    await turnUntil(() => signals.length === 1);
    const closing = receiver.close({ timeoutMs: Number.POSITIVE_INFINITY });
    await turns();
    await pass(60_000);
    expect(signals[0]?.aborted).toBe(false);
    finish.open();
    await closing;
  });

  it("close() gives the name back although telemetry fails to end", async () => {
    const failing = {
      receive: (incoming: Incoming, _: string, run: (given: Incoming) => Promise<ReceiveResult>) =>
        run(incoming),
      end() {
        throw new Error("no exporter");
      },
    } as unknown as Instrumentation;
    const telemetry = { [instrumentation]: () => failing };
    const { receiver } = setUp({ name: "ending", ...telemetry });
    await expect(receiver.close()).rejects.toThrow("no exporter");
    expect(setUp({ name: "ending" }).receiver.name).toBe("ending");
  });
});
