import { fileURLToPath } from "node:url";
import { askingSetUp } from "@reporthook/test-support/asking-setup";
import { never, setUp } from "@reporthook/test-support/receiver-setup";
import { startScript } from "@reporthook/test-support/script";
import { describe, expect, it, vi } from "vitest";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import { messages } from "./log-messages.ts";
import { createReceiver } from "./receiver.ts";

const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe("starting", () => {
  it("a receiver leaves two timers once all is done: one tells whether the clock was set, one gives a sign of life", async () => {
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
    expect(timers.size).toBe(2);
    await receiver.close();
    expect(timers.size).toBe(0);
  });

  it("mount() lets handlers register in its turn, before and after it", async () => {
    const { receiver, send } = setUp({}, "runs");
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

  it("the first request starts the receiver when nothing is mounted", async () => {
    const { receiver, send, seen, seeAll } = setUp();
    seeAll();
    await send("report");
    expect(() => receiver.on("report", () => {})).toThrow(/has started/);
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it.each([true, false])(
    "idle() starts a receiver to which no request came, for what it tells by itself, if autostart is %s",
    async (autostart) => {
      const { receiver, reports, failWith, seen, pass } = askingSetUp({ autostart });
      failWith(() => new Response("", { status: 500 }));
      await expect(reports.request({})).rejects.toThrow("500");
      await receiver.idle();
      receiver.on("report", () => {});
      await pass(86_400_000);
      const idle = receiver.idle({ timeoutMs: autostart ? 5_000 : 1 });
      if (autostart) await idle;
      else await expect(idle).rejects.toThrow(/1 verified.*not started/);
      expect(seen.map(({ type }) => type)).toEqual(autostart ? ["report.overdue"] : []);
    },
  );

  it("start() is left to the caller when autostart is false", async () => {
    const { receiver, send, seen } = setUp({ autostart: false }, "runs");
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

  it("a receiver warns once when autostart is false and something is stored before start()", async () => {
    const { receiver, send, lines, seeAll } = setUp({ autostart: false });
    seeAll();
    const { body } = await send("report");
    await send("report.complete");
    const fields = expect.objectContaining({ id: body.id });
    const message = messages.notStarted;
    expect(lines).toEqual([{ level: "warn", fields, message }]);
    await receiver.start();
    await receiver.idle();
    await send("report");
    expect(lines).toHaveLength(1);
  });

  it.each([
    ["may be called again", false],
    ["leaves the rest to the automatic start", true],
  ])("start() by hand rejects when the inbox fails to open, and %s", async (_, autostart) => {
    const open = vi.fn().mockRejectedValueOnce(new Error("locked")).mockResolvedValue(undefined);
    const inbox = Object.assign(memoryInbox(), { open });
    const { receiver, send, seen, seeAll } = setUp({ autostart, inbox });
    seeAll();
    await expect(receiver.start()).rejects.toThrow("locked");
    if (!autostart) await receiver.start();
    await send("report");
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it("createReceiver() and on() use no timer, network or randomness", async () => {
    // Random bytes are taken for many ids at once: as new, there are none left.
    vi.resetModules();
    const fresh = await import("./index.ts");
    const used = [
      vi.spyOn(globalThis, "setTimeout"),
      vi.spyOn(globalThis, "setInterval"),
      vi.spyOn(globalThis, "fetch"),
      vi.spyOn(Math, "random"),
      vi.spyOn(crypto, "getRandomValues"),
      vi.spyOn(globalThis, "queueMicrotask"),
    ];
    const client = { authorize: never };
    fresh.createReceiver({ client, logger: false }).on("*", () => {});
    for (const spy of used) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("a receiver without an inbox says once that a crash loses acknowledged deliveries", () => {
    const warn = vi.fn();
    createReceiver({ client: { authorize: never }, logger: { warn } });
    createReceiver({ client: { authorize: never }, logger: { warn }, ack: "handled" });
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith({ receiver: "reports" }, expect.stringContaining("crash"));
  });
});

describe("handlers", () => {
  it("on() throws for unknown names, none, and no function", () => {
    const { receiver } = setUp();
    const on = receiver.on as unknown as (names: unknown, handler: unknown) => void;
    for (const name of ["report.done", "", 7, null, ["report", "nope"]]) {
      expect(() => on(name, () => {}), String(name)).toThrow(TypeError);
    }
    expect(() => on([], () => {})).toThrow("on: give at least one event name");
    expect(() => on("report", undefined)).toThrow("on: the handler must be a function");
    const generators = [function* () {}, async function* () {}];
    for (const one of generators) expect(() => on("report", one)).toThrow("is a generator");
    const names =
      "these are: test_webhook_endpoint, report.processing, report.complete, report.internal_error, report.overdue, unknown, report, *";
    expect(() => on("report.done", () => {})).toThrow(
      `on: "report.done" is no event name; ${names}`,
    );
    expect(() => on(7, () => {})).toThrow(`on: 7 is no event name; ${names}`);
  });
});

describe("processes", () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const run = async (lines: string): Promise<string> => {
    const program = `
      import { createReceiver, createClient, memoryInbox } from "@reporthook/core";
      const client = createClient({ baseUrl: "http://127.0.0.1:9", apiKey: "secret-of-the-child" });
      const inbox = memoryInbox();
      const receiver = createReceiver({ client, inbox });
      ${lines}`;
    const { code, stdout, stderr } = await startScript(program, { cwd: root, timeout: 60_000 })
      .ended;
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain("secret-of-the-child");
    return stdout;
  };
  const post = `await receiver.fetch(new Request("http://localhost/", { method: "POST", body: "{}", headers: { "X-svc-authorization": "s" } }))`;

  it("a process ends when its script does, with a receiver started automatically and a delivery waiting", async () => {
    expect(await run(`receiver.mount(); console.log((${post}).status);`)).toBe("200\n");
  });

  it("a process is kept alive by start() by hand, until close()", async () => {
    // Without being kept alive it would end with code 13: its top-level await would be left unsettled.
    const code = `
      await Promise.all([receiver.start(), receiver.start()]);
      await new Promise((resolve) => setTimeout(resolve, 100).unref());
      await receiver.close();
      console.log("closed");`;
    expect(await run(code)).toBe("closed\n");
  });

  it("a process is kept alive by start() by hand no longer when it fails", async () => {
    const code = `
      inbox.open = () => Promise.reject(new Error("locked"));
      await receiver.start().catch(({ message }) => console.log(message));`;
    expect(await run(code)).toBe("locked\n");
  });
});
