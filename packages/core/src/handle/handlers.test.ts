import { gate, setUp as receiverSetUp, turns } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import type { EventOf } from "../events/events.ts";
import { type AnyHandler, dispatch, Handlers, isInsideHandler } from "./handlers.ts";

const event: EventOf = {
  id: "1",
  type: "report.complete",
  status: "complete",
  requestId: null,
  reportId: "r",
  eventType: null,
  receivedAt: new Date(0),
  verification: "valid",
  body: {},
};

function setUp(attempt = 1) {
  const clock = manualClock();
  const controller = new AbortController();
  const { signal } = controller;
  const run = (...handlers: AnyHandler[]): Promise<readonly unknown[]> =>
    dispatch(handlers, event, attempt, { clock, ms: 1_000, parent: signal });
  return { clock, controller, run };
}

describe("choice", () => {
  const handlers = new Handlers();
  for (const names of [
    ["report.complete"],
    ["report"],
    ["*"],
    ["test_webhook_endpoint", "unknown"],
    ["report", "*"],
  ] as const) {
    handlers.add(names, () => names.join());
  }
  const chosen = (
    type: EventOf["type"],
    verification: EventOf["verification"],
    released = false,
  ): unknown[] =>
    handlers
      .of({ type, verification }, released)
      .map((handler) => handler(event, { signal: new AbortController().signal, attempt: 1 }));

  it("Handlers.of() gives the handlers whose names fit, in order of registration, each once", () => {
    expect(chosen("report.complete", "valid")).toEqual([
      "report.complete",
      "report",
      "*",
      "report,*",
    ]);
    expect(chosen("report.processing", "expired")).toEqual(["report", "*", "report,*"]);
    expect(chosen("unknown", "valid")).toEqual(["*", "test_webhook_endpoint,unknown", "report,*"]);
  });

  it("Handlers.of() gives an unsigned event no handler unless it is a test, or released", () => {
    for (const type of ["report.complete", "report.internal_error", "unknown"] as const) {
      expect(chosen(type, "unsigned")).toEqual([]);
      expect(chosen(type, "unsigned", true)).toEqual(chosen(type, "valid"));
    }
    const forTests = ["*", "test_webhook_endpoint,unknown", "report,*"];
    expect(chosen("test_webhook_endpoint", "unsigned")).toEqual(forTests);
  });
});

describe("runs", () => {
  it("dispatch() runs handlers one after the other, with the event and the attempt", async () => {
    const { clock, run } = setUp(3);
    const seen: unknown[] = [];
    const first: AnyHandler = async (given, { attempt, signal }) => {
      await null;
      seen.push(given, attempt, signal.aborted);
    };
    expect(await run(first, () => seen.push("second"))).toEqual([]);
    expect(seen).toEqual([event, 3, false, "second"]);
    expect(clock.pending).toBe(0);
  });

  it("dispatch() runs all handlers even if some fail, and resolves to their errors", async () => {
    const { run } = setUp();
    const seen: string[] = [];
    const failures = await run(
      () => {
        throw "at once";
      },
      () => Promise.reject(undefined),
      () => seen.push("third"),
    );
    expect(failures).toEqual(["at once", undefined]);
    expect(seen).toEqual(["third"]);
  });

  it("dispatch() resolves when the time is up, aborts the signal, and begins no further handler", async () => {
    const { clock, run } = setUp();
    const seen: unknown[] = [];
    const finish = gate();
    const running = run(
      (_event, { signal }) => {
        signal.addEventListener("abort", () => seen.push(signal.reason.code));
        return finish.opened;
      },
      () => seen.push("second"),
    );
    clock.advance(1_000);
    const failures = await running;
    expect(failures).toMatchObject([{ code: "handler_timeout" }]);
    finish.open();
    await turns();
    expect(seen).toEqual(["handler_timeout"]);
    expect(clock.pending).toBe(0);
  });

  it("dispatch() resolves when its signal aborts, with the reason", async () => {
    const { clock, controller, run } = setUp();
    const reason = new Error("closing");
    const running = run(() => new Promise(() => {}));
    controller.abort(reason);
    expect(await running).toEqual([reason]);
    expect(clock.pending).toBe(0);
  });

  it("dispatch() begins nothing when its signal is aborted already", async () => {
    const { controller, run } = setUp();
    const seen: string[] = [];
    controller.abort("closing");
    expect(await run(() => seen.push("ran"))).toEqual(["closing"]);
    expect(seen).toEqual([]);
  });
});

type Close = () => Promise<void>;
const nested = async (close: Close): Promise<void> => {
  await turns(2);
  await close();
};
const ways: Record<string, (close: Close) => Promise<unknown>> = {
  "at once": (close) => close(),
  "after a while": nested,
  "in a function that it waits for": async (close) => {
    await turns(1);
    await nested(close);
  },
  "beside others": (close) => Promise.all([nested(close), turns(3)]),
  "in a chain": (close) => turns(1).then(() => close()),
};

describe("closing", () => {
  for (const ack of ["stored", "handled"] as const) {
    it.each(Object.entries(ways))(
      `close() inside a handler does not wait for it, ack: "${ack}", called %s`,
      async (_way, run) => {
        const { receiver, send, observed } = receiverSetUp({ ack });
        let handled = false;
        receiver.on("report", async (_event, { signal }) => {
          await run(() => receiver.close());
          handled = !signal.aborted;
        });
        expect((await send("report.complete")).status).toBe(200);
        while (!handled) await turns(1);
        await receiver.close();
        expect(observed.map(([name]) => name)).toContain("handled");
      },
    );
  }
});

describe("context", () => {
  it("isInsideHandler() is false for work that a handler began and does not wait for, and elsewhere", async () => {
    const { receiver, send } = receiverSetUp();
    const seen: boolean[] = [];
    const note = (): void => void seen.push(isInsideHandler());
    receiver.on("report", () => {
      note();
      setImmediate(note);
    });
    await send("report.complete");
    await receiver.idle();
    await turns();
    note();
    expect(seen).toEqual([true, false, false]);
  });

  it("isInsideHandler() leaves the limit of stacks as it was", () => {
    const before = Error.stackTraceLimit;
    isInsideHandler();
    expect(Error.stackTraceLimit).toBe(before);
  });
});
