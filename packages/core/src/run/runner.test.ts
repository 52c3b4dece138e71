import {
  durableInbox,
  gate,
  never,
  setUp,
  turns,
  turnUntil,
} from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { DoNotRetry } from "../errors.ts";
import type { ConsumeOptions, Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { PruneCount } from "../inbox/retention.ts";
import { messages } from "../log-messages.ts";

const nothing = new PruneCount({ handledMs: 1, parkedMs: 1 });
const inboxWith = (methods: Partial<Inbox>): Inbox => Object.assign(memoryInbox(), methods);

const hourMs = 3_600_000;

describe("pruning", () => {
  const fail = (): never => {
    throw new Error("disk of key-that-nobody-may-see is full");
  };

  it("a receiver prunes from an hour after its start, once a minute, and for a list once a second", async () => {
    const prune = vi.fn(async (_now: Date) => nothing);
    const clock = manualClock();
    const { receiver, send } = setUp({ inbox: inboxWith({ prune }), clock });
    const began = clock.now();
    const pruned = () =>
      prune.mock.calls.flatMap(([now]) => (now.getTime() === 0 ? [] : [now.getTime() - began]));
    const oneMore = async () => {
      await send("report");
      await receiver.idle();
    };
    await oneMore();
    clock.advance(hourMs - 1);
    await oneMore();
    expect(pruned()).toEqual([]);
    clock.advance(60_000);
    await oneMore();
    expect(pruned()).toEqual([hourMs]);
    clock.advance(60_000);
    expect(pruned()).toEqual([hourMs, hourMs + 60_000]);
    await oneMore();
    expect(pruned()).toHaveLength(2);
    for (const [ms, times] of [
      [0, 3],
      [999, 3],
      [1, 4],
    ] as const) {
      clock.advance(ms);
      await receiver.inbox.list();
      expect(pruned()).toHaveLength(times);
    }
  });

  it("a receiver does not prune before its inbox is open, nor while it closes or once it is closed", async () => {
    const prune = vi.fn(async () => nothing);
    const [opened, finish] = [gate(), gate()];
    const inbox = Object.assign(durableInbox(), { prune, open: () => opened.opened });
    const { receiver, send, seen, seeAll, pass } = setUp({ inbox });
    seeAll(() => finish.opened);
    const starting = receiver.start();
    await pass(hourMs);
    const sending = send("report");
    await turns();
    expect(prune).not.toHaveBeenCalled();
    opened.open();
    await Promise.all([starting, sending]);
    await turnUntil(() => seen.length === 1);
    await pass(hourMs);
    const { length } = prune.mock.calls;
    expect(length).toBeGreaterThan(0);
    const closed = receiver.close({ timeoutMs: 3 * hourMs });
    await turns();
    await pass(hourMs);
    finish.open();
    await closed;
    await expect(receiver.inbox.list()).rejects.toMatchObject({ code: "closed" });
    expect(prune).toHaveBeenCalledTimes(length);
  });

  it.each([
    ["reject", async () => fail()],
    ["throw", fail],
  ])(
    "a failing prune() may %s: a line a minute tells it without the key, and all goes on",
    async (_, prune) => {
      const { receiver, send, seen, seeAll, lines, pass } = setUp({ inbox: inboxWith({ prune }) });
      seeAll();
      await receiver.start();
      await send("report");
      await receiver.idle();
      expect(seen).toHaveLength(1);
      for (let second = 0; second < 60; second++) {
        await pass(1_000);
        await receiver.inbox.list();
      }
      const error = "Error: disk of [api key] is full";
      const line = (count: number) => ({
        level: "error",
        fields: { receiver: "reports", error, count },
        message: messages.notPruned,
      });
      expect(lines).toEqual([line(1), line(60)]);
    },
  );

  it("a prune() that fails after close() is not logged", async () => {
    const pruned = gate();
    const prune = vi.fn(() => pruned.opened.then(fail));
    const { receiver, lines } = setUp({ inbox: inboxWith({ prune }), autostart: false });
    receiver.on("*", () => {});
    await receiver.start();
    await receiver.close();
    pruned.open();
    await turns();
    expect([prune.mock.calls.length, lines]).toEqual([1, []]);
  });
});

describe("failures", () => {
  it("an inbox that fails at its work is one line a minute with their number, for each thing that it says", async () => {
    const policies: ConsumeOptions[] = [];
    const idle = { stop: async () => {}, abort: async () => {}, running: 0 };
    const consume: Inbox["consume"] = (_stage, _work, policy) => {
      policies.push(policy);
      return idle;
    };
    const clock = manualClock();
    const { receiver, lines, seeAll } = setUp({ inbox: inboxWith({ consume }), clock });
    seeAll();
    await receiver.start();
    const fail = (words: string): void => {
      for (const { onError } of policies) onError(new Error(words));
    };
    fail("locked");
    fail("locked");
    fail("full");
    fail("locked");
    clock.advance(60_000);
    fail("locked");
    expect(lines.map(({ fields: { error, count } }) => [error, count])).toEqual([
      ["Error: locked", 1],
      ["Error: full", 1],
      ["Error: locked", 6],
    ]);
  });
});

describe("turns", () => {
  /** A receiver whose inbox hands out more than it may handle at a time, with the outcome of each. */
  function crowded(isHeld: () => boolean | Promise<boolean>) {
    const ended: (readonly [stage: string, outcome: string])[] = [];
    const inbox = memoryInbox();
    const consume = inbox.consume.bind(inbox);
    inbox.consume = (stage, processor, options) =>
      consume(
        stage,
        async (job, { signal }) => {
          const outcome = await processor(job, { signal, isHeld });
          ended.push([stage, outcome.error ?? outcome.to]);
          return outcome;
        },
        { ...options, concurrency: 2 },
      );
    const first = gate();
    let runs = 0;
    const { receiver, send } = setUp({ inbox, concurrency: { handle: 1 } });
    receiver.on("report", () => (++runs === 1 ? first.opened : undefined));
    return { receiver, send, first, ended, runs: () => runs };
  }

  it.each([
    ["still held", true, 2],
    ["no longer held", false, 1],
  ])("a job that has waited for its turn begins if it is %s", async (_, isHeld, running) => {
    let held: boolean | Promise<boolean> = isHeld;
    const { receiver, send, first, ended, runs } = crowded(() => held);
    for (let sent = 0; sent < 2; sent++) await send("report");
    await turnUntil(() => runs() === 1 && ended.length === 2);
    await turns();
    first.open();
    await turnUntil(() => ended.length >= 4);
    const handled = ended.filter(([stage]) => stage === "handle").map(([, outcome]) => outcome);
    const second = isHeld ? "handled" : "stopped";
    expect(handled.slice(0, 2).sort()).toEqual(["handled", second].sort());
    expect(runs()).toBeGreaterThanOrEqual(running);
    held = Promise.resolve(true);
    await receiver.idle();
    expect(runs()).toBe(2);
  });
});

describe("rest", () => {
  const late = { timeoutMs: 1 };

  it("idle() names a delivery that has no verdict", async () => {
    const { receiver, send } = setUp({ autostart: false });
    const { body } = await send("report");
    await expect(receiver.idle(late)).rejects.toThrow(
      `Receiver reports is not idle after 1 ms: 1 received, 0 verified; for example ${body.id} (not verified); the receiver is not started`,
    );
  });

  it("idle() names a delivery that waits for its next attempt, and the error of the last one", async () => {
    const { receiver, send } = setUp();
    receiver.on("*", () => {
      throw new Error("out of paper");
    });
    const { body } = await send("report.complete");
    await turnUntil(async () => (await receiver.inbox.get(body.id))?.attempts === 1);
    await expect(receiver.idle(late)).rejects.toThrow(
      `: 0 received, 1 verified; for example ${body.id} (report.complete, last error: Error: out of paper)`,
    );
  });

  it("idle() says that the inbox gives no answer", async () => {
    const { receiver } = setUp({ inbox: inboxWith({ counts: never }) });
    await expect(receiver.idle(late)).rejects.toThrow(
      "Receiver reports is not idle after 1 ms: the inbox gives no answer",
    );
  });

  it("idle() names no delivery when the counted ones are gone", async () => {
    const inbox = inboxWith({ list: async () => [] });
    const { receiver, send } = setUp({ inbox, autostart: false });
    await send("report");
    await expect(receiver.idle(late)).rejects.toThrow(
      /: 1 received, 0 verified; the receiver is not started$/,
    );
  });
});

describe("opening the inbox", () => {
  const unopened = messages.inboxNotOpened;

  it("a receiver opens its inbox again after 1 second, then after twice as long each time, up to 30", async () => {
    const open = vi.fn(() => Promise.reject(new Error("locked")));
    const clock = manualClock();
    const { send, lines, seeAll, pass } = setUp({ inbox: inboxWith({ open }), clock });
    seeAll();
    await send("report");
    await turns();
    const waits = [1, 2, 4, 8, 16, 30, 30].map((seconds) => seconds * 1_000);
    for (const [index, ms] of waits.entries()) {
      const fields = { receiver: "reports", error: "Error: locked", afterMs: ms };
      const notOpened = lines.filter(({ message }) => message === unopened);
      expect(notOpened[index]).toEqual({ level: "error", fields, message: unopened });
      // A request right after a failure asks for nothing sooner.
      await send("report");
      await pass(ms - 1);
      expect(open).toHaveBeenCalledTimes(index + 1);
      await pass(1);
    }
    expect(open).toHaveBeenCalledTimes(waits.length + 1);
  });

  it("a request has the inbox opened again that could not be opened a second ago, and is stored", async () => {
    const open = vi.fn().mockRejectedValueOnce(new Error("locked")).mockResolvedValue(undefined);
    const clock = manualClock();
    const { receiver, send, seen, seeAll } = setUp({ inbox: inboxWith({ open }), clock });
    seeAll();
    await receiver.inbox.counts();
    expect((await send("report")).body.code).toBe("inbox_unavailable");
    expect((await send("report")).body.code).toBe("inbox_unavailable");
    expect(open).toHaveBeenCalledTimes(1);
    clock.advance(999);
    expect((await send("report")).status).toBe(503);
    clock.advance(1);
    expect((await send("report")).status).toBe(200);
    await receiver.idle();
    expect([open.mock.calls.length, seen.length]).toEqual([2, 1]);
  });

  it("close() gives up opening the inbox, without a line for a later failure", async () => {
    const opened = gate();
    const fails = async (): Promise<void> => {
      await opened.opened;
      throw new Error("locked");
    };
    const open = vi.fn(fails);
    const { receiver, lines, seeAll, pass } = setUp({ inbox: inboxWith({ open }) }, "runs");
    seeAll();
    receiver.mount();
    await turnUntil(() => open.mock.calls.length === 1);
    const closed = receiver.close();
    opened.open();
    await closed;
    await pass(3_600_000);
    expect([open.mock.calls.length, lines]).toEqual([1, []]);
  });

  it("start() begins no work when the inbox opens after close()", async () => {
    const opened = gate();
    const consume = vi.fn();
    const { receiver } = setUp({ inbox: inboxWith({ open: () => opened.opened, consume }) });
    const started = receiver.start();
    const closed = receiver.close();
    opened.open();
    await Promise.all([started, closed]);
    expect(consume).not.toHaveBeenCalled();
  });

  it("start() says in so many words that a closed receiver starts no more", async () => {
    const { receiver } = setUp();
    await receiver.close();
    const message = "Receiver reports is closed; make a new one";
    await expect(receiver.start()).rejects.toMatchObject({ code: "closed", message });
  });
});

describe("nothing stored", () => {
  it('ack: "handled" opens no inbox, and parks nothing', async () => {
    const prune = vi.fn(async () => nothing);
    const inbox = inboxWith({ prune });
    const { receiver, send, observed, lines } = setUp({ ack: "handled", inbox });
    receiver.on("*", () => {
      throw new DoNotRetry("no such report");
    });
    await receiver.start();
    expect((await send("report.complete")).status).toBe(503);
    expect(observed.map(([hook]) => hook)).not.toContain("parked");
    expect(lines).toMatchObject([{ message: messages.notHandled }]);
    await receiver.idle();
    await receiver.inbox.list();
    expect(prune).not.toHaveBeenCalled();
  });
});
