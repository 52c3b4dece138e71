import { gate, setUp, turns, turnUntil } from "@reporthook/test-support/receiver-setup";
import { schemaOf } from "@reporthook/test-support/schema";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Authorizer } from "./client/authorizer.ts";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";

describe("receiver", () => {
  it("a receiver acknowledges before authorize has answered, and handles after it, once", async () => {
    const verdict = gate();
    const asked: string[] = [];
    const client: Authorizer = {
      async authorize(signature) {
        asked.push(signature);
        await verdict.opened;
        return "valid";
      },
    };
    const { receiver, emulator, post, seen, seeAll } = setUp({ client });
    seeAll();
    const notification = emulator.notification("report.complete", { reportId: "r-1" });

    const answer = await post(notification);
    expect(answer).toMatchObject({ status: 200, body: { status: "accepted" } });
    await turnUntil(() => asked.length === 1);
    expect(seen).toEqual([]);
    expect(await post(notification)).toMatchObject({
      status: 200,
      body: { status: "duplicate", id: answer.body.id },
    });

    verdict.open();
    await receiver.idle();
    expect(asked).toEqual([notification.headers["X-svc-authorization"]]);
    expect(seen).toMatchObject([
      { id: answer.body.id, type: "report.complete", reportId: "r-1", verification: "valid" },
    ]);
    expect(await post(notification)).toMatchObject({ body: { status: "duplicate" } });
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });

  it("on() gives the handlers of each name their events when several are registered", async () => {
    const { receiver, send } = setUp();
    const calls: string[] = [];
    receiver.on(["report.complete", "report"], (event) => void calls.push(`report ${event.type}`));
    receiver.on("test_webhook_endpoint", (event) => void calls.push(`test ${event.payload}`));
    receiver.on("unknown", (event) => void calls.push(`unknown ${event.eventType}`));
    receiver.on("*", (event) => void calls.push(`* ${event.type}`));
    for (const name of ["report.complete", "test_webhook_endpoint", "unknown"] as const) {
      await send(name);
      await receiver.idle();
    }
    expect(calls).toEqual([
      "report report.complete",
      "* report.complete",
      "test This is a test notification: the address can receive notifications.",
      "* test_webhook_endpoint",
      "unknown not_in_the_document",
      "* unknown",
    ]);
  });

  it("a receiver says once a minute for each type that no handler ran, with the number", async () => {
    const { receiver, emulator, send, lines } = setUp();
    receiver.on("report.complete", () => {});
    const said = () => lines.splice(0).map(({ fields }) => [fields["type"], fields["count"]]);
    const sent = ["report.processing", "report.processing", "report.complete"] as const;
    for (const name of [...sent, "report.internal_error"] as const) await send(name);
    await receiver.idle();
    const [entry] = await receiver.inbox.list();
    expect(entry).toMatchObject({ state: "handled", lastError: "no handler ran" });
    expect(said()).toEqual([
      ["report.processing", 1],
      ["report.internal_error", 1],
    ]);
    emulator.clock.advance(60_000);
    await send("report.processing");
    await receiver.idle();
    expect(said()).toEqual([["report.processing", 2]]);
  });

  it("a receiver asks parse before the table, and parks a delivery on which parse throws", async () => {
    const { receiver, send, seen, seeAll } = setUp({
      parse({ body }) {
        if (body["boom"] === true) throw new RangeError("no such shape");
        return body["kind"] === "done"
          ? { type: "report", status: "complete", reportId: "p-1" }
          : null;
      },
    });
    seeAll();
    await send("*", { body: { kind: "done" } });
    await receiver.idle();
    expect(seen).toMatchObject([{ type: "report.complete", reportId: "p-1" }]);
    const boom = await send("*", { body: { boom: true } });
    await receiver.idle();
    expect(await receiver.inbox.get(boom.body.id)).toMatchObject({
      state: "dead",
      reason: { code: "not_understood", message: "RangeError: no such shape" },
    });
    const unsigned = await send("*", { body: { boom: true }, signature: "none" });
    expect(unsigned).toMatchObject({ status: 200 });
    expect(await receiver.inbox.get(unsigned.body.id)).toMatchObject({ state: "held" });
  });

  it("a receiver works where an app has put its own Promise in the place of the runtime's", async () => {
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal("Promise", class extends Promise<unknown> {});
    const { receiver, send, seen, seeAll } = setUp({
      schemas: { "report.complete": schemaOf(() => ({ value: "output" })) },
    });
    seeAll();
    const { status, body } = await send("report.complete");
    expect(status).toBe(200);
    await receiver.idle();
    expect(seen).toMatchObject([{ id: body.id, body: "output" }]);
  });

  it("a receiver tells each hook of observe with the entry", async () => {
    const { receiver, send, observed } = setUp();
    let fails = 1;
    receiver.on("report", () => {
      if (fails-- > 0) throw new Error("once");
    });
    const { body } = await send("report.complete", { reportId: "r-9" });
    await turnUntil(() => observed.some(([name]) => name === "failed"));
    expect(observed).toMatchObject([
      ["acknowledged", { id: body.id, state: "received", reportId: null, attempts: 0 }],
      ["verified", { id: body.id, state: "verified", reportId: "r-9", type: "report.complete" }],
      [
        "failed",
        {
          id: body.id,
          state: "verified",
          attempts: 1,
          lastError: expect.stringMatching(/^Error: once\n {4}at /),
        },
      ],
    ]);
    expect(observed[2]?.[1].nextAttemptAt).toBeInstanceOf(Date);
    await send("unknown");
    await turnUntil(() => observed.some(([name]) => name === "parked"));
    expect(observed.at(-1)).toMatchObject(["parked", { state: "held" }]);
    expect(observed.filter(([name]) => name === "failed")).toHaveLength(1);
  });

  it("a receiver goes on when hooks of observe and the logger throw or reject", async () => {
    const fail = (): never => {
      throw new Error("hook");
    };
    const { receiver, send, seen, seeAll } = setUp({
      logger: { warn: fail, error: fail },
      observe: {
        acknowledged: fail,
        verified: fail,
        handled: (async () => fail()) as () => void,
      },
    });
    seeAll();
    expect(await send("report")).toMatchObject({ status: 200 });
    await receiver.idle();
    await turns();
    expect(seen).toHaveLength(1);
  });

  it("createReceiver() throws when a name is given twice, and not once it is given back", async () => {
    const inbox = memoryInbox();
    const first = setUp({ name: "twice", inbox });
    expect(() => setUp({ name: "twice", inbox })).toThrow(TypeError);
    expect(() => setUp({ name: "twice" })).toThrow(
      'createReceiver: name "twice" is taken: close the other receiver, or give this one another name. If this module is evaluated twice, write globalThis.receiver ??= make()',
    );
    setUp({ name: "another", inbox });
    await first.receiver.close();
    expect(setUp({ name: "twice", inbox }).receiver.name).toBe("twice");
  });

  it("createReceiver() throws for a second receiver without a name on the same inbox, not on its own", () => {
    const inbox = memoryInbox();
    setUp({ inbox });
    expect(() => setUp({ inbox })).toThrow(/"reports" is taken/);
    expect(setUp({}).receiver.name).toBe("reports");
  });
});
