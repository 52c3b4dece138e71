import { gate, never } from "@reporthook/test-support/gate";
import { testStages } from "@reporthook/test-support/jobs";
import { schemaOf } from "@reporthook/test-support/schema";
import { storedRequest } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { DoNotRetry } from "../errors.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { messages } from "../log-messages.ts";

const leaseOf = ({ signal }: AbortController) => ({ signal, isHeld: () => true });
const lease = leaseOf(new AbortController());
const verified = { stage: "handle", state: "verified", verification: "valid" } as const;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const cutOff = { to: "retry", afterMs: 0, countsAsAttempt: false };

describe("attempts", () => {
  it("HandleStage.run() does not count an attempt that a shutdown cut off, in a handler or in a schema", async () => {
    for (const rest of [{}, { schemas: { "report.complete": schemaOf(never) } }]) {
      const { handle, job, handlers } = testStages(never, rest);
      handlers.add("*", never);
      const controller = new AbortController();
      const handling = handle.run(job(verified), leaseOf(controller));
      await Promise.resolve();
      controller.abort();
      expect(await handling).toMatchObject({ to: "retry", countsAsAttempt: false });
    }
  });

  it("HandleStage.run() shows no API key from the errors of handlers and schemas", async () => {
    const schema = schemaOf(() => {
      throw new Error("no canary");
    });
    const thrown = [[new Error("a canary")], [new Error("a canary"), new DoNotRetry("canary")]];
    for (const failures of thrown) {
      for (const attempts of [0, 2]) {
        const { handle, job, handlers } = testStages(() => "valid");
        for (const failure of failures) {
          handlers.add("*", () => Promise.reject(failure));
        }
        const text = JSON.stringify(await handle.run(job({ ...verified, attempts }), lease));
        expect(text).toContain("a [api key]");
        expect(text).not.toContain("canary");
      }
    }
    const { handle, job } = testStages(() => "valid", { schemas: { "report.complete": schema } });
    const text = JSON.stringify(await handle.run(job(verified), lease));
    expect(text).toContain("no [api key]");
    expect(text).not.toContain("canary");
  });

  it("HandleStage.run() names at most 20 keys of an unknown notification, in a bounded text", async () => {
    const { handle, job } = testStages(() => "valid");
    const keys = Array.from({ length: 30 }, (_, index) => [`${index}${"k".repeat(500)}`, 1]);
    const body = new TextEncoder().encode(JSON.stringify(Object.fromEntries(keys)));
    const outcome = await handle.run(job({ stage: "handle", verification: "valid", body }), lease);
    expect(outcome).toMatchObject({ to: "held", reason: { code: "no_handler" } });
    expect(JSON.stringify(outcome).length).toBeLessThan(1_000);
  });
});

describe("decisions", () => {
  it("HandleStage.run() parks what is no JSON object as not_understood", async () => {
    const { handle, job } = testStages(() => "valid");
    const outcome = await handle.run(job({ ...verified, body: bytes("[]") }), lease);
    const message = "The body is not a JSON object.";
    expect(outcome).toMatchObject({ to: "dead", reason: { code: "not_understood", message } });
  });

  it("HandleStage.run() parks an event that does not match its schema, by its code", async () => {
    const schema = schemaOf(() => ({ issues: [{ message: "no number" }] }));
    const { handle, job } = testStages(() => "valid", { schemas: { "report.complete": schema } });
    const outcome = await handle.run(job(verified), lease);
    expect(outcome).toMatchObject({ to: "dead", reason: { code: "schema_mismatch" } });
  });

  it("HandleStage.run() parks an event whose schema takes too long", async () => {
    const schemas = { "report.complete": schemaOf(never) };
    const { handle, job, clock } = testStages(() => "valid", { schemas });
    const handling = handle.run(job(verified), lease);
    await Promise.resolve();
    clock.advance(1_000);
    const outcome = await handling;
    expect(outcome).toMatchObject({ to: "dead", reason: { code: "not_understood" } });
    const late = "The schema took longer than handlerTimeoutMs (1000 ms)";
    expect(JSON.stringify(outcome)).toContain(late);
  });

  it.each([
    ["the keys a, b", '{"a":1,"b":2}'],
    ["no key", "{}"],
  ])(
    "HandleStage.run() holds an unknown event without a handler, and names %s",
    async (keys, body) => {
      const { handle, job } = testStages(() => "valid");
      const outcome = await handle.run(job({ ...verified, body: bytes(body) }), lease);
      const message = `No handler for an unknown notification with ${keys}: register one for "unknown" or teach parse its shape, then release it.`;
      expect(outcome).toMatchObject({ to: "held", type: "unknown", reason: { message } });
    },
  );

  it("HandleStage.begin() warns when no handler is registered", () => {
    const lines: string[] = [];
    const warn = (_: object, message: string): void => void lines.push(message);
    const { handle, handlers } = testStages(() => "valid", {
      logger: { info() {}, warn, error() {} },
    });
    handle.begin();
    expect(lines).toEqual([messages.noHandlers]);
    handlers.add("*", () => {});
    handle.begin();
    expect(lines).toHaveLength(1);
  });

  it("HandleStage.run() counts no attempt while the inbox gives no answer about a request", async () => {
    const memory = memoryInbox();
    const requests = { ...memory.requests, get: () => Promise.reject(new Error("away")) };
    const inbox = { ...memory, requests } as Inbox;
    const { handle, job } = testStages(() => "valid", { inbox });
    const outcome = await handle.run(job({ ...verified, requestId: "r" }), lease);
    const expected = { to: "retry", afterMs: 1_000, error: "Error: away", countsAsAttempt: false };
    expect(outcome).toMatchObject(expected);
  });

  it("HandleStage.run() runs no handler for an overdue request that nobody knows", async () => {
    const { handle, job } = testStages(() => "valid");
    const given = { ...verified, type: "report.overdue", requestId: "r", body: bytes("") } as const;
    const error = "no handler ran: its request is not known";
    expect(await handle.run(job(given), lease)).toEqual({ to: "handled", error });
  });

  it("HandleStage.run() parks an overdue request whose context is no JSON", async () => {
    const memory = memoryInbox();
    const damaged = storedRequest("r", { context: "{" });
    const requests = { ...memory.requests, get: async () => damaged };
    const { handle, job } = testStages(() => "valid", { inbox: { ...memory, requests } as Inbox });
    const given = { ...verified, type: "report.overdue", requestId: "r", body: bytes("") } as const;
    const outcome = await handle.run(job(given), lease);
    expect(outcome).toMatchObject({ to: "dead", reason: { code: "not_understood" } });
  });
});

describe("slots", () => {
  const one = { concurrency: { verify: 2, handle: 1 } };

  /** A stage of one slot, which a handler holds until it is told to end. */
  function occupied() {
    let end = (): void => {};
    const stages = testStages(() => "valid", one);
    const { handle, job, handlers } = stages;
    handlers.add("*", () => new Promise<void>((done) => (end = done)));
    const first = handle.run(job(verified), lease);
    return { ...stages, first, end: () => end() };
  }

  it("HandleStage.run() asks after a wait whether the lease is still held", async () => {
    for (const isHeld of [true, false]) {
      const { handle, job, first, end } = occupied();
      const next = handle.run(job({ ...verified, id: "2" }), { ...lease, isHeld: () => isHeld });
      await Promise.resolve();
      end();
      expect(await first).toMatchObject({ to: "handled" });
      if (isHeld) setTimeout(end);
      expect(await next).toMatchObject(isHeld ? { to: "handled" } : cutOff);
    }
  });

  it("HandleStage.stop() has those that wait for a slot cut off, and running ones go on", async () => {
    const { handle, job, first, end } = occupied();
    const next = handle.run(job({ ...verified, id: "2" }), lease);
    await Promise.resolve();
    handle.stop();
    end();
    expect(await first).toMatchObject({ to: "handled" });
    expect(await next).toMatchObject(cutOff);
  });

  it("HandleStage.run() without a slot is cut off when its signal is aborted", async () => {
    const { handle, job, end, first } = occupied();
    const controller = new AbortController();
    const next = handle.run(job({ ...verified, id: "2" }), leaseOf(controller));
    controller.abort();
    expect(await next).toMatchObject(cutOff);
    end();
    await first;
  });

  it("HandleStage.handleAtOnce() takes no delivery while no slot is free, until handlers are known to be short", async () => {
    const { handle, job, first, end } = occupied();
    expect(handle.handleAtOnce(job({ ...verified, id: "2" }), lease)).toBe(null);
    end();
    await first;
    // As if each took no time: the machine may be slow.
    const time = vi.spyOn(performance, "now").mockReturnValue(0);
    const short = testStages(() => "valid", one);
    for (let count = 0; count < 20; count++) await short.handle.run(job(verified), lease);
    const door = gate();
    short.handlers.add("*", () => door.opened);
    const held = short.handle.run(job(verified), lease);
    const waiting = short.handle.handleAtOnce(job({ ...verified, id: "2" }), lease);
    const other = short.handle.handleAtOnce(job({ ...verified, id: "3" }), lease);
    expect([waiting === null, other === null]).toEqual([false, false]);
    expect(short.handle.handleAtOnce(job({ ...verified, id: "4" }), lease)).toBe(null);
    door.open();
    expect(await Promise.all([held, waiting, other])).toMatchObject(
      Array.from({ length: 3 }, () => ({ to: "handled" })),
    );
    time.mockRestore();
  });

  it("HandleStage.concurrency leaves out the deliveries that are handled at once, and is one at least", async () => {
    const door = gate();
    const { handle, job, handlers } = testStages(() => "valid", {
      concurrency: { verify: 1, handle: 3 },
    });
    handlers.add("*", () => door.opened);
    expect(handle.concurrency).toBe(3);
    const running = [handle.run(job(verified), lease)];
    expect(handle.concurrency).toBe(3);
    for (const id of ["2", "3"]) {
      const atOnce = handle.handleAtOnce(job({ ...verified, id }), lease);
      if (atOnce !== null) running.push(atOnce);
    }
    expect(running).toHaveLength(3);
    expect(handle.concurrency).toBe(1);
    door.open();
    await Promise.all(running);
    expect(handle.concurrency).toBe(3);
  });
});
