import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { gate, setUp, standStill, turns, until } from "../../../test/receiver-setup.ts";
import type { EventOf } from "./events.ts";
import { memoryInbox } from "./memory-inbox.ts";
import { createReceiver } from "./receiver.ts";

const never = (): Promise<never> => new Promise(() => {});
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** A memory inbox that says it survives a crash: the receiver goes on storing while it closes. */
const durableInbox = () =>
  Object.assign(memoryInbox(), {
    guarantees: { ...memoryInbox().guarantees, durability: "fsync" as const },
  });

describe("start()", () => {
  it("leaves no timer once all is done", async () => {
    const timers = new Set<unknown>();
    const clock = {
      now: Date.now,
      setTimeout(callback: () => void, ms: number) {
        const timer = setTimeout(callback, ms);
        timers.add(timer);
        return timer;
      },
      clearTimeout(timer: unknown) {
        timers.delete(timer);
        clearTimeout(timer as NodeJS.Timeout);
      },
    };
    const { receiver, send, seen, seeAll } = setUp({ clock });
    seeAll();
    await send("report.complete");
    await receiver.idle();
    expect(seen).toHaveLength(1);
    expect(timers.size).toBe(0);
  });

  it("lets handlers register in the turn of mounting, before and after it", async () => {
    const { receiver, send } = setUp();
    const calls: string[] = [];
    receiver.on("report", () => void calls.push("before"));
    receiver.mount();
    receiver.on("report", () => void calls.push("after"));
    await nextTurn();
    expect(() => receiver.on("report", () => {})).toThrow(/already_started|autostart: false/);
    expect(() => receiver.on("report", () => {})).toThrowError(
      expect.objectContaining({ code: "already_started" }),
    );
    await send("report.complete");
    await receiver.idle();
    expect(calls).toEqual(["before", "after"]);
  });

  it("is done by the first request when nothing is mounted", async () => {
    const { receiver, send, seen, seeAll } = setUp();
    seeAll();
    await send("report");
    expect(() => receiver.on("report", () => {})).toThrow(/has started/);
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it("is left to the caller when autostart is false", async () => {
    const { receiver, send, seen } = setUp({ autostart: false });
    receiver.mount();
    await nextTurn();
    const { body } = await send("report");
    await expect(receiver.idle({ timeoutMs: 1 })).rejects.toMatchObject({
      code: "not_idle",
      message: expect.stringMatching(new RegExp(`1 received.*${body.id}.*not started`)),
    });
    receiver.on("*", (event) => void seen.push(event));
    await Promise.all([receiver.start(), receiver.start()]);
    await receiver.idle();
    await receiver.start();
    expect(seen).toHaveLength(1);
  });

  it("rejects by hand, and may be called again", async () => {
    const open = vi.fn().mockRejectedValueOnce(new Error("locked")).mockResolvedValue(undefined);
    const { receiver, send, seen, seeAll } = setUp({
      ...{ autostart: false, inbox: Object.assign(memoryInbox(), { open }) },
    });
    seeAll();
    await expect(receiver.start()).rejects.toThrow("locked");
    await receiver.start();
    await send("report");
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it("is tried again, with a line each time, when it was automatic", async () => {
    const open = vi.fn().mockRejectedValue(new Error("locked"));
    const { receiver, send, seen, seeAll, emulator, lines } = setUp({
      inbox: Object.assign(memoryInbox(), { open }),
    });
    seeAll();
    receiver.mount();
    await nextTurn();
    await send("report");
    await turns();
    expect(open).toHaveBeenCalledTimes(1);
    emulator.clock.advance(1_000);
    await turns();
    emulator.clock.advance(1_000);
    await turns();
    expect(open).toHaveBeenCalledTimes(2);
    expect(lines).toMatchObject([
      { level: "error", fields: { afterMs: 1_000, error: "Error: locked" } },
      { level: "error", fields: { afterMs: 2_000 } },
    ]);
    open.mockResolvedValue(undefined);
    emulator.clock.advance(1_000);
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it("is still automatic after a start by hand that failed", async () => {
    const open = vi.fn().mockRejectedValueOnce(new Error("locked")).mockResolvedValue(undefined);
    const { receiver, send, seen, seeAll } = setUp({
      inbox: Object.assign(memoryInbox(), { open }),
    });
    seeAll();
    await expect(receiver.start()).rejects.toThrow("locked");
    await send("report");
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it("rejects once the receiver is closed", async () => {
    const { receiver } = setUp();
    await receiver.close();
    await expect(receiver.start()).rejects.toMatchObject({ code: "closed" });
  });

  it("uses no timer, network or randomness when a receiver is made and handlers registered", () => {
    const used = [
      ...[vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "setInterval")],
      ...[vi.spyOn(globalThis, "fetch"), vi.spyOn(Math, "random")],
      ...[vi.spyOn(crypto, "getRandomValues"), vi.spyOn(globalThis, "queueMicrotask")],
    ];
    const client = { authorize: never };
    createReceiver({ client, logger: false }).on("*", () => {});
    for (const spy of used) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("says once that a crash loses what was acknowledged when no inbox is given", () => {
    const warn = vi.fn();
    createReceiver({ client: { authorize: never }, logger: { warn } });
    createReceiver({ client: { authorize: never }, logger: { warn }, ack: "handled" });
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith({ receiver: "reports" }, expect.stringContaining("crash"));
  });
});

describe("on()", () => {
  it("throws for unknown names, none, and no function", () => {
    const { receiver } = setUp();
    const on = receiver.on as unknown as (names: unknown, handler: unknown) => void;
    for (const name of ["report.done", "", 7, null, ["report", "nope"]]) {
      expect(() => on(name, () => {}), String(name)).toThrow(TypeError);
    }
    expect(() => on([], () => {})).toThrow("on: give at least one event name");
    expect(() => on("report", undefined)).toThrow("on: the handler must be a function");
    const names =
      "these are: test_webhook_endpoint, report.processing, report.complete, report.internal_error, unknown, report, *";
    expect(() => on("report.done", () => {})).toThrow(
      `on: "report.done" is no event name; ${names}`,
    );
    expect(() => on(7, () => {})).toThrow(`on: 7 is no event name; ${names}`);
  });
});

describe("close()", () => {
  it("answers closing at once with a memory inbox, and lets running handlers finish", async () => {
    const finish = gate();
    const { receiver, send, emulator } = setUp();
    const started: EventOf[] = [];
    receiver.on("*", (event) => {
      started.push(event);
      return finish.opened;
    });
    const { body } = await send("report");
    await until(() => started.length === 1);
    let closed = false;
    const closing = receiver.close().finally(() => {
      closed = true;
    });
    expect(receiver.close()).toStrictEqual(receiver.close());
    const refused = await send("report");
    expect(refused).toMatchObject({ status: 503, body: { code: "closing" } });
    expect(refused.headers.get("retry-after")).not.toBeNull();
    emulator.clock.advance(10_000);
    await turns();
    expect(closed).toBe(false);
    finish.open();
    await closing;
    expect(started.map(({ id }) => id)).toEqual([body.id]);
  });

  it("refuses a request whose body arrives after it with a memory inbox", async () => {
    const { receiver, observed } = setUp();
    let finish = (): void => {};
    const body = new ReadableStream({
      start(controller) {
        finish = () => {
          controller.enqueue(new TextEncoder().encode("{}"));
          controller.close();
        };
      },
    });
    const answer = receiver.fetch(
      new Request("http://localhost/", {
        ...{ method: "POST", body, headers: { "X-svc-authorization": "s" } },
        ...({ duplex: "half" } as object),
      }),
    );
    await turns();
    const closing = receiver.close();
    finish();
    expect((await answer).status).toBe(503);
    await closing;
    expect(observed).toEqual([]);
  });

  it("aborts the signal at the timeout, and does not count that attempt", async () => {
    standStill();
    const inbox = memoryInbox();
    const close = vi.spyOn(inbox, "close").mockResolvedValue();
    const first = setUp({ inbox });
    const signals: AbortSignal[] = [];
    first.receiver.on("*", (_, { signal }) => {
      signals.push(signal);
      return never();
    });
    const { body } = await first.send("report");
    await until(() => signals.length === 1);
    const closing = first.receiver.close({ timeoutMs: 5_000 });
    await turns();
    first.emulator.clock.advance(4_500);
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

  it("goes on storing and acknowledging with a durable inbox until the handlers are done", async () => {
    const finish = gate();
    const inbox = durableInbox();
    const { receiver, send } = setUp({ inbox });
    let runs = 0;
    receiver.on("*", () => {
      runs++;
      return finish.opened;
    });
    await send("report");
    await until(() => runs === 1);
    const closing = receiver.close();
    expect(await send("report")).toMatchObject({ status: 200 });
    await turns();
    expect(runs).toBe(1);
    finish.open();
    await closing;
    expect(await send("report")).toMatchObject({ status: 503, body: { code: "closing" } });
  });

  it("resolves in time when the inbox never opens", async () => {
    const inbox = Object.assign(memoryInbox(), { open: never });
    const { receiver } = setUp({ inbox });
    void receiver.start();
    await receiver.close({ timeoutMs: 1 });
  });

  it("lets none that wait for the key's probe hold it up", async () => {
    const { receiver, send, emulator } = setUp();
    emulator.fault("authorize", { status: 401 });
    for (let sent = 0; sent < 20; sent++) await send("report");
    await turns();
    emulator.clock.advance(1_000);
    await turns();
    await receiver.close();
  });

  it("waits as long as it is told, even for ever", async () => {
    const finish = gate();
    const { receiver, send } = setUp();
    let running = false;
    receiver.on("*", () => {
      running = true;
      return finish.opened;
    });
    await send("report");
    await until(() => running);
    const closing = receiver.close({ timeoutMs: Number.POSITIVE_INFINITY });
    await turns();
    finish.open();
    await closing;
  });
});

describe("inbox", () => {
  it("looks at its own receiver only, and after what is no longer kept is gone", async () => {
    const inbox = memoryInbox({ retention: { parkedMs: 60_000 } });
    const mine = setUp({ inbox, unsigned: "hold" });
    const other = setUp({ inbox, name: "other", autostart: false });
    await other.send("report");
    const { body } = await mine.post({
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    const { inbox: view } = mine.receiver;
    const hour = {
      from: new Date(Date.now() - 3_600_000),
      until: new Date(Date.now() + 3_600_000),
    };
    expect(await view.counts()).toMatchObject({ held: 1, received: 0 });
    expect((await view.list()).map(({ id }) => id)).toEqual([body.id]);
    expect((await view.summary(hour)).parked).toEqual({ unsigned: 1 });
    await expect(view.release("none")).rejects.toMatchObject({ code: "not_found" });
    await expect(view.retry(body.id)).rejects.toMatchObject({ code: "not_releasable" });
    expect(await view.releaseAll("poison")).toBe(0);
    await view.discard(body.id);
    expect(await view.get(body.id)).toBeNull();
    expect((await other.receiver.inbox.list()).length).toBe(1);
  });

  it("shows nothing that is no longer kept", async () => {
    const inbox = memoryInbox({ retention: { handledMs: 60_000 } });
    const { receiver, send, emulator } = setUp({ inbox });
    const { body } = await send("report.complete");
    await receiver.idle();
    emulator.clock.advance(59_000);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "handled" });
    emulator.clock.advance(2_000);
    expect(await receiver.inbox.get(body.id)).toBeNull();
  });
});

describe("waitUntil", () => {
  it("lasts until the outcome is recorded", async () => {
    const { receiver, emulator, seeAll } = setUp();
    seeAll();
    const waiting: Promise<unknown>[] = [];
    await receiver.fetch(new Request("http://localhost", emulator.notification("report")), {
      waitUntil: (promise) => void waiting.push(promise),
    });
    await Promise.all(waiting);
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 1, verified: 0 });
  });

  it("is given a promise of the first attempt, and may fail", async () => {
    const finish = gate();
    const { receiver, emulator, seen } = setUp();
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
    await until(() => seen.length === 1);
    expect(done).toBe(false);
    finish.open();
    await until(() => done);

    const broken = await post("report", () => {
      throw new TypeError("Illegal invocation");
    });
    expect(broken.status).toBe(200);
    await receiver.idle();
  });

  it.each([
    ["is refused", {}, { method: "GET" }],
    ["is held", {}, { body: "{}", headers: { "content-type": "application/json" } }],
    ["is not worked on here", { autostart: false }, { headers: { "X-svc-authorization": "s" } }],
    ["is forged", {}, { headers: { "X-svc-authorization": "s" } }],
  ])("is not kept waiting by a delivery that %s", async (_, options, init) => {
    const { receiver } = setUp(options);
    const waiting: Promise<unknown>[] = [];
    await receiver.fetch(new Request("http://localhost", { method: "POST", ...init }), {
      waitUntil: (promise) => void waiting.push(promise),
    });
    expect(waiting).toHaveLength(1);
    await Promise.all(waiting);
  });

  it("lasts until the attempt when the first authorize call gives no verdict", async () => {
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

  it("sees the end of work that is done before the answer", async () => {
    const { receiver } = setUp({ client: { authorize: async () => "valid" } });
    const waiting: Promise<unknown>[] = [];
    const headers = { "X-svc-authorization": "s" };
    await receiver.fetch(new Request("http://localhost", { method: "POST", body: "{}", headers }), {
      waitUntil: (promise) => void waiting.push(promise),
    });
    await Promise.all(waiting);
  });
});

describe("a process", () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const run = async (code: string): Promise<string> => {
    const program = `
      import { createReceiver, createClient, memoryInbox } from "@reporthook/core";
      const client = createClient({ baseUrl: "http://127.0.0.1:9", apiKey: "secret-of-the-child" });
      const receiver = createReceiver({ client, inbox: memoryInbox() });
      ${code}`;
    const args = ["--conditions=@reporthook/source", "--import", "tsx", "--input-type=module"];
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [...args, "--eval", program],
      { cwd: root },
    );
    expect(stdout + stderr).not.toContain("secret-of-the-child");
    return stdout;
  };
  const post = `await receiver.fetch(new Request("http://localhost/", { method: "POST", body: "{}", headers: { "X-svc-authorization": "s" } }))`;

  it("ends when its script does, started automatically and with a delivery waiting", async () => {
    expect(await run(`receiver.mount(); console.log((${post}).status);`)).toBe("200\n");
  });

  it("is kept alive by start() by hand, until close()", async () => {
    // Without being kept alive it would end with code 13: its top-level await would be left unsettled.
    const code = `
      await receiver.start();
      await new Promise((resolve) => setTimeout(resolve, 100).unref());
      await receiver.close();
      console.log("closed");`;
    expect(await run(code)).toBe("closed\n");
  });
});
