import { setUp, turnUntil } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import { DoNotRetry, ReporthookError } from "../errors.ts";
import type { ActQuery } from "./acts/act.ts";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { noMark } from "./timekeeper.ts";

/** Filters that an object of a class computes, or inherits. */
class DeadOnes {
  get state(): "dead" {
    return "dead";
  }
}

describe("inbox of a receiver", () => {
  it.each([
    ["computes", new DeadOnes()],
    ["inherits", Object.create({ state: "dead" }) as DeadOnes],
  ])(
    "receiver.inbox finds and discards what fits a filter that the selection %s, and nothing else",
    async (_how, dead) => {
      const { post, send, seen, receiver } = setUp({ unsigned: "hold" });
      receiver.on("report.complete", (event) => {
        seen.push(event);
        throw new DoNotRetry("no");
      });
      await send("report.complete");
      await post({ body: "{}", headers: { "content-type": "application/json" } });
      await turnUntil(() => seen.length === 1);
      await receiver.idle();
      const { inbox } = receiver;
      expect(await inbox.list(dead)).toHaveLength(1);
      expect(await inbox.errors(dead)).toMatchObject([{ count: 1 }]);
      expect(await inbox.discard(dead, { dryRun: true })).toEqual({ do_not_retry: 1 });
      expect(await inbox.discard(dead)).toBe(1);
      expect(await inbox.counts()).toMatchObject({ dead: 0, held: 1 });
    },
  );

  it("receiver.inbox acts up to the date that was given, though it is changed while it acts", async () => {
    const { send, receiver, emulator } = setUp();
    receiver.on("report.complete", () => {
      throw new DoNotRetry("no");
    });
    const { inbox } = receiver;
    const until = new Date(emulator.clock.now());
    emulator.clock.advance(1_000);
    await send("report.complete");
    await receiver.idle();
    const later = emulator.clock.now() + 1_000;
    const acts = [
      inbox.discard({ state: "dead", until }),
      inbox.release({ state: "dead", until }),
      inbox.list({ until }).then(({ length }) => length),
    ];
    until.setTime(later);
    expect(await Promise.all(acts)).toEqual([0, 0, 0]);
    expect(await inbox.counts()).toMatchObject({ dead: 1 });
  });

  it("receiver.inbox shows its own receiver only, and nothing that a discard has deleted", async () => {
    const inbox = memoryInbox({ retention: { parkedMs: 60_000 } });
    const mine = setUp({ inbox, unsigned: "hold" });
    const other = setUp({ inbox, name: "other", autostart: false });
    const foreign = (await other.send("report")).body.id;
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
    expect(await view.get(foreign)).toBeNull();
    for (const id of ["none", foreign]) {
      await expect(view.release(id)).rejects.toMatchObject({ code: "not_found" });
      await expect(view.discard(id)).rejects.toMatchObject({ code: "not_found" });
    }
    await expect(view.retry(body.id)).rejects.toMatchObject({ code: "not_releasable" });
    expect(await view.release({ reason: "poison" })).toBe(0);
    expect(await view.release({ state: "held" })).toBe(0);
    expect(await view.release({ reason: "unsigned" }, { dryRun: true })).toEqual({ unsigned: 1 });
    // As a program passes it on.
    for (const dryRun of [true, false, undefined]) {
      const found = dryRun ? {} : 0;
      expect(await view.discard({ reason: "poison" }, { dryRun })).toEqual(found);
    }
    expect(await view.discard(body.id, { dryRun: true })).toEqual({ unsigned: 1 });
    expect(await view.discard(body.id, { by: "ada" })).toBe(1);
    expect(await view.get(body.id)).toBeNull();
    expect((await other.receiver.inbox.list()).length).toBe(1);
  });

  it.each([
    ["status is no option; these are: state, type, ", { status: "held" }],
    ["state must be one of parked, received, ", { state: "lost" }],
    ["after must be a string, not 5", { after: 5 }],
    ["reportId must be a string, not an object", { reportId: {} }],
    ["limit must be an integer from 1, or Infinity, not 0", { limit: 0 }],
    ["limit must be an integer from 1, or Infinity, not NaN", { limit: Number.NaN }],
    ["limit must be an integer from 1, or Infinity, not 1.5", { limit: 1.5 }],
    ['limit must be an integer from 1, or Infinity, not "9"', { limit: "9" }],
    ['from must be a valid Date, not "2026-01-01"', { from: "2026-01-01" }],
    ["until must be a valid Date, not an object", { until: new Date(Number.NaN) }],
    ["until must be a valid Date, not an object", { until: { getTime: (): number => 0 } }],
    ["newestFirst must be true or false, not 1", { newestFirst: 1 }],
    ["options must be an object, not a string", "held"],
  ])("receiver.inbox refuses a query: %s", async (message, query) => {
    const { receiver } = setUp();
    const listing = receiver.inbox.list(query as Parameters<typeof receiver.inbox.list>[0]);
    await expect(listing).rejects.toThrow(TypeError);
    await expect(listing).rejects.toThrow(`list: ${message}`);
  });

  it("receiver.inbox refuses an id that is no text, and a summary without its dates", async () => {
    const { inbox } = setUp().receiver;
    const getting = inbox.get(undefined as unknown as string);
    await expect(getting).rejects.toThrow("get: id must be a string, not undefined");
    for (const call of ["release", "retry", "discard"] as const) {
      const calling = inbox[call](undefined as unknown as string);
      const message = `${call}: the first argument must be an id or a selection, not undefined`;
      await expect(calling).rejects.toThrow(message);
    }
    const refused = (query: object, message: string) =>
      expect(inbox.summary(query as never)).rejects.toThrow(message);
    const from = new Date(0);
    await refused({ from }, "summary: until must be a valid Date, not undefined");
    await refused({ until: from, from: null }, "summary: from must be a valid Date, not null");
    await refused({ from, until: from, state: "held" }, "summary: state is no option");
    const acts = inbox.acts({ limit: 0 });
    await expect(acts).rejects.toThrow("acts: limit must be an integer from 1, or Infinity, not 0");
    const errors = inbox.errors({ state: "lost" as never });
    await expect(errors).rejects.toThrow("errors: state must be one of parked, received, ");
  });

  it.each([
    ["give at least one filter of state, type, ", {}, {}],
    ["give at least one filter of state, type, ", { reason: undefined }, {}],
    ["give at least one filter of state, type, ", { idPrefix: "" }, {}],
    ["give at least one filter of state, type, ", { unchangedSince: new Date() }, {}],
    ["reason must be a string, not 7", { reason: 7 }, {}],
    ["reportId must be a string, not null", { reportId: null }, {}],
    ["error must be a string, not null", { state: "dead", error: null }, {}],
    ["state must be one of parked, received, ", { state: "lost" }, {}],
    ["reason must be one of unsigned, expired, ", { reason: "unsinged" }, {}],
    ["type must be one of test_webhook_endpoint, ", { type: "report" }, {}],
    [
      'unchangedSince must be a valid Date, not "now"',
      { state: "held", unchangedSince: "now" },
      {},
    ],
    ["limit is no option; these are: state, type, ", { state: "held", limit: 1 }, {}],
    ["by must be a string, not 7", "an id", { by: 7 }],
    ['dryRun must be true or false, not "yes"', "an id", { dryRun: "yes" }],
    ["force is no option; these are: by, dryRun", "an id", { force: true }],
  ])("receiver.inbox refuses to act: %s", async (message, which, options) => {
    const { receiver } = setUp();
    for (const act of ["release", "retry", "discard"] as const) {
      const acting = receiver.inbox[act](which as never, options as never);
      await expect(acting).rejects.toThrow(TypeError);
      await expect(acting).rejects.toThrow(`${act}: ${message}`);
    }
  });

  it("receiver.inbox acts by the time of its inbox from the first act on, though the wall clock was set since", async () => {
    const store = memoryInbox();
    const { act } = store;
    const acted: ActQuery[] = [];
    const mark = { ...noMark };
    const inbox = Object.assign(store, {
      keepTime: async () => mark,
      act(query: ActQuery) {
        acted.push(query);
        return act(query);
      },
    });
    const { receiver, emulator } = setUp({ inbox, autostart: false });
    const wallAt = emulator.clock.now();
    const behindMs = 3 * 3_600_000;
    Object.assign(mark, { livedAt: wallAt - behindMs, wallAt, furthestAt: wallAt });
    await receiver.inbox.retry({ state: "verified" });
    expect(acted).toMatchObject([{ now: wallAt - behindMs, wallOffset: behindMs }]);
  });

  it("receiver.inbox tells how many were done before the inbox failed", async () => {
    const inbox = memoryInbox();
    const { act } = inbox;
    const failing = Object.assign(inbox, {
      async *act(query: ActQuery) {
        yield* act(query);
        throw new ReporthookError("inbox_failed", "The disk is full");
      },
    });
    const { receiver, post } = setUp({ inbox: failing });
    const headers = { "content-type": "application/json" };
    for (const body of ['{"a":1}', '{"a":2}']) await post({ body, headers });
    await expect(receiver.inbox.discard({ state: "held" })).rejects.toMatchObject({
      code: "inbox_failed",
      message: "The disk is full. Before that 2 were discarded; the rest is as it was",
    });
    expect(await receiver.inbox.counts()).toMatchObject({ held: 0 });
  });

  it("receiver.inbox takes all that a query may hold, left out or not", async () => {
    const { receiver, send } = setUp({ autostart: false });
    await send("report");
    const { inbox } = receiver;
    const none = { state: undefined, limit: undefined, from: undefined } as object;
    for (const query of [undefined, none, { limit: Number.POSITIVE_INFINITY }, { limit: 1e20 }]) {
      expect(await inbox.list(query)).toHaveLength(1);
    }
    expect(await inbox.list({ from: new Date(0), until: new Date(1) })).toEqual([]);
  });

  it("receiver.inbox shows nothing that is no longer kept", async () => {
    const inbox = memoryInbox({ retention: { handledMs: 7_200_000 } });
    const { receiver, send, emulator } = setUp({ inbox });
    const { body } = await send("report.complete");
    await receiver.idle();
    emulator.clock.advance(7_199_000);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "handled" });
    emulator.clock.advance(2_000);
    expect(await receiver.inbox.get(body.id)).toBeNull();
  });
});
