import type { Receiver } from "@reporthook/core";
import { gate, never, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import type { Facts } from "../inbox/facts/facts.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverOptions } from "../options/receiver-options.ts";
import { inside, type Lookout } from "./health.ts";

const secrets = ["0123456789abcdef0123456789abcdef"];
const callback = { secrets, url: "https://app.example/hook", overdueMs: 60_000 };

describe("health", () => {
  it("health() tells how long the oldest has waited, though the clock was set meanwhile", async () => {
    const { now, ...timers } = manualClock();
    let setBackMs = 0;
    const clock = { ...timers, now: () => now() - setBackMs };
    const { receiver, send } = setUp({ clock, autostart: false });
    expect((await receiver.health()).oldestWaitingMs).toBeNull();
    await send("report");
    timers.advance(1_234);
    expect(await receiver.health()).toMatchObject({ ready: true, oldestWaitingMs: 1_234 });
    setBackMs = 60_000;
    expect((await receiver.health()).oldestWaitingMs).toBe(1_234);
  });

  it("health() tells when the newest was received, and when they were counted", async () => {
    const clock = manualClock();
    const { receiver, send } = setUp({ clock, autostart: false });
    const began = await receiver.health();
    expect(began).toMatchObject({ newest: null, countedAt: new Date(clock.now()), problems: [] });
    await send("report");
    const received = new Date(clock.now());
    clock.advance(5_000);
    const health = await receiver.health();
    expect(health).toMatchObject({ newest: received, countedAt: new Date(clock.now()) });
  });

  it("health() tells when the newest was received, though its body came late and another one was answered before", async () => {
    const clock = manualClock();
    const { receiver, emulator, send } = setUp({ clock, autostart: false });
    const { body: text, ...slow } = emulator.notification("report");
    const late = new TransformStream<string, string>();
    const body = late.readable.pipeThrough(new TextEncoderStream());
    const first = new Request("http://app/", { ...slow, body, duplex: "half" } as RequestInit);
    const answered = receiver.fetch(first);
    clock.advance(1_000);
    await send("report");
    const received = new Date(clock.now());
    clock.advance(500);
    const writer = late.writable.getWriter();
    await Promise.all([writer.write(text), writer.close()]);
    expect((await answered).status).toBe(200);
    const [entry] = await receiver.inbox.list({ newestFirst: true, limit: 1 });
    expect([(await receiver.health()).newest, entry?.receivedAt]).toEqual([received, received]);
  });

  it.each<[what: string, options: Partial<ReceiverOptions>]>([
    ["was discarded", {}],
    ["was handled within its request", { ack: "handled" }],
  ])("health() tells when the newest was received though it %s", async (_, options) => {
    const clock = manualClock();
    const { receiver, send } = setUp({ clock, ...options });
    receiver.on("report", () => {});
    const at = new Date(clock.now());
    await send("report", { signature: options.ack === undefined ? "none" : "valid" });
    clock.advance(5_000);
    if (options.ack === undefined) await receiver.inbox.discard({ state: "held" });
    expect(await receiver.health()).toMatchObject({ newest: at, counts: { held: 0, handled: 0 } });
  });

  it("health() tells a genuine one as lost that was not handled in the time of its request", async () => {
    const { receiver, send, pass } = setUp({ ack: "handled" });
    receiver.on("report", never);
    const answer = send("report");
    await turns();
    await pass(4_000);
    expect((await answer).status).toBe(503);
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "lost", count: 1, severity: "critical" }]);
  });

  it("health() tells that all are rejected though a valid one came in the same millisecond", async () => {
    const { receiver, send } = setUp({ verify: "before-ack" });
    await send("report");
    for (let count = 0; count < 5; count++) await send("report", { signature: "invalid" });
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "all_rejected", count: 5, severity: "warning" }]);
  });

  it("health() tells all_rejected as critical if one came with a token that carries no context", async () => {
    const { receiver, emulator, send, post } = setUp({ verify: "before-ack", callback });
    await send("report");
    const url = await receiver.callbackUrl("https://app.example/hook");
    for (let count = 0; count < 5; count++) {
      await post(emulator.notification("report", { signature: "invalid" }), url);
    }
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "all_rejected", severity: "critical" }]);
  });

  it("health() tells no event of the receiver's own as the newest notification", async () => {
    const clock = manualClock();
    const { receiver, send, seeAll } = setUp({ callback, clock });
    seeAll();
    await send("report");
    const received = new Date(clock.now());
    const { id } = await receiver.reports.request({ domains: ["example.com"] });
    clock.advance(61_000);
    await receiver.idle();
    expect(await receiver.reports.settle(id, "complete")).toBe(true);
    await receiver.idle();
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 3 });
    expect((await receiver.health()).newest).toEqual(received);
  });

  it("health() tells since when handlers fail and requests are overdue, not when somebody looked", async () => {
    const clock = manualClock();
    const { receiver, send, pass } = setUp({ callback, clock });
    receiver.on("report", () => {
      throw new Error("no");
    });
    receiver.on("report.overdue", () => {});
    const later = { overdueMs: 60_500 };
    await receiver.reports.request({ domains: ["example.com"] }, later);
    const { id } = await receiver.reports.request({ domains: ["example.com"] });
    await pass(61_000);
    const due = (await receiver.reports.get(id))?.dueAt;
    await send("report.complete");
    await turns();
    const failed = new Date(clock.now());
    clock.advance(700);
    const { problems } = await receiver.health();
    const since = problems.map((one) => [one.code, one.since]);
    expect(since).toEqual([
      ["handlers_failing", failed],
      ["overdue", due],
    ]);
  });

  it("health() forgets no failure that came while it looked", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver, send } = setUp({ inbox, clock });
    receiver.on("report", () => {
      throw new Error("no");
    });
    const answer = gate();
    const { facts } = inbox;
    vi.spyOn(inbox, "facts").mockImplementationOnce(async (name) => {
      const seen = await facts(name);
      await answer.opened;
      return seen;
    });
    const asked = receiver.health();
    await turns();
    clock.advance(10);
    await send("report.complete");
    await turns();
    const since = new Date(clock.now());
    answer.open();
    await asked;
    clock.advance(500);
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "handlers_failing", since }]);
  });

  it("health() calls nobody silent while the inbox takes no signs of life, and afterwards who gives none", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    let isCutOff = false;
    const keepsThere: Inbox["keepNotes"] = async (...given) => {
      if (isCutOff) throw new Error("cut off");
      await inbox.keepNotes(...given);
    };
    const beside = Object.assign(memoryInbox(), { keepNotes: keepsThere });
    const [one, other] = [setUp({ inbox, clock }), setUp({ inbox: beside, clock })];
    const codes = async (): Promise<string[]> =>
      (await one.receiver.health()).problems.map(({ code }) => code);
    const pass = (seconds: number): Promise<void> => one.pass(seconds * 1_000, 1_000);
    await Promise.all([one.receiver.start(), other.receiver.start()]);
    await pass(20);
    expect(await codes()).toEqual([]);
    const { processes } = (one.receiver as unknown as Record<symbol, Lookout>)[inside] as Lookout;
    expect(processes).toMatchObject([{ state: "running" }, { state: "running" }]);
    const full = async () => ({ ok: false, error: "full" });
    const health = vi.spyOn(inbox, "health").mockImplementation(full);
    const keepNotes = vi.spyOn(inbox, "keepNotes").mockRejectedValue(new Error("full"));
    await pass(9);
    expect(await codes()).toEqual(["inbox_fails"]);
    await pass(60);
    expect(await codes()).toEqual(["inbox_fails"]);
    await pass(60);
    for (const spy of [health, keepNotes]) spy.mockRestore();
    await pass(6);
    expect(await codes()).toEqual([]);
    isCutOff = true;
    await pass(16);
    expect(await codes()).toEqual(["process_stalled"]);
  });

  it("health() asks nothing of an inbox that is closed with the receiver, and tells the last counts without what changes", async () => {
    const inbox = memoryInbox();
    const { receiver, send, pass } = setUp({ inbox, autostart: false });
    await send("report");
    await pass(11 * 60_000);
    const { counts, newest, problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "behind" }]);
    const answer = gate();
    const health = vi.spyOn(inbox, "health").mockImplementationOnce(async () => {
      await answer.opened;
      return { ok: true };
    });
    const facts = vi.spyOn(inbox, "facts");
    const asked = receiver.health();
    await receiver.close();
    answer.open();
    const closed = { ready: false, inbox: { ok: true }, oldestWaitingMs: null, problems: [] };
    const last = { ...closed, newest, counts: { ...counts, received: 1 } };
    expect(await asked).toMatchObject(last);
    expect(await receiver.health()).toMatchObject(last);
    expect(health).toHaveBeenCalledTimes(1);
    expect(facts).not.toHaveBeenCalled();
  });

  it.each(["health", "facts", "notes"] as const)(
    "health() resolves within 500 ms while %s of the inbox gives no answer",
    async (question) => {
      const inbox = memoryInbox();
      const { receiver } = setUp({ inbox });
      vi.spyOn(inbox, question).mockImplementation(never);
      // Timers of one turn fire in the order of their times, also on a slow machine.
      const late = new Promise((resolve) => setTimeout(() => resolve("late"), 500));
      const ready = { ready: true, countedAt: null };
      expect(await Promise.race([receiver.health(), late])).toMatchObject(ready);
    },
  );

  it("a request that is settled ends overdue", async () => {
    const clock = manualClock();
    const { receiver, pass } = setUp({ callback, clock });
    receiver.on(["report.overdue", "report.complete"], () => {});
    await receiver.start();
    const { id } = await receiver.reports.request({ domains: ["example.com"] });
    await pass(61_000);
    expect((await receiver.health()).problems).toMatchObject([{ code: "overdue", count: 1 }]);
    await receiver.reports.settle(id, "complete");
    expect((await receiver.health()).problems).toEqual([]);
  });

  it("an inbox keeps that a signature was valid, over a restart and for more than an hour", async () => {
    const inbox = memoryInbox();
    const severityOf = async (receiver: Receiver) =>
      (await receiver.health()).problems.find(({ code }) => code === "all_rejected")?.severity;
    const first = setUp({ inbox, verify: "before-ack" });
    await first.send("report");
    await first.pass(5_000);
    await first.receiver.close();
    const second = setUp({ inbox, verify: "before-ack", ...first.world });
    await second.receiver.start();
    await second.pass(7_200_000, 60_000);
    for (let count = 0; count < 5; count++) await second.send("report", { signature: "invalid" });
    expect(await severityOf(second.receiver)).toBe("warning");
  });

  it("health() comes in time while the inbox gives no answer, and is not ready after 4 seconds", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver } = setUp({ inbox, clock });
    const hung = vi.spyOn(inbox, "health").mockImplementation(never);
    expect(await receiver.health()).toMatchObject({ ready: true, countedAt: null });
    clock.advance(3_999);
    expect(await receiver.health()).toMatchObject({ ready: true });
    clock.advance(1);
    const error = "The inbox gave no answer within 4000 ms";
    expect(await receiver.health()).toMatchObject({
      ready: false,
      inbox: { ok: false, error },
      problems: [{ code: "inbox_fails", severity: "critical" }],
    });
    // It is asked again: the question may have been lost.
    hung.mockRestore();
    clock.advance(4_000);
    expect(await receiver.health()).toMatchObject({ ready: true, inbox: { ok: true } });
  });

  it("health() is ready while only counting takes long, and tells the last counts", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver, send } = setUp({ inbox, clock, autostart: false });
    await send("report");
    const countedAt = new Date(clock.now());
    const known = { ready: true, inbox: { ok: true }, counts: { received: 1 }, countedAt };
    expect(await receiver.health()).toMatchObject(known);
    const slow = gate();
    const facts = vi.spyOn(inbox, "facts").mockImplementation(async () => {
      await slow.opened;
      return {} as Facts;
    });
    clock.advance(4_000);
    expect(await receiver.health()).toMatchObject({ ...known, oldestWaitingMs: 4_000 });
    clock.advance(4_000);
    expect(await receiver.health()).toMatchObject({ ...known, oldestWaitingMs: 8_000 });
    // It is not asked to count while it does.
    expect(facts).toHaveBeenCalledTimes(1);
    facts.mockRestore();
    slow.open();
    await turns();
    expect(await receiver.health()).toMatchObject({ countedAt: new Date(clock.now()) });
  });

  it("health() is not ready for 30 seconds after one could not be stored, unless one was since", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver, send, lines } = setUp({ inbox, clock, autostart: false });
    const full = vi.spyOn(inbox, "add").mockRejectedValue(new Error("disk full"));
    for (let count = 0; count < 3; count++) expect((await send("report")).status).toBe(503);
    const failing = { ready: false, inbox: { ok: false, error: "Error: disk full" } };
    expect(await receiver.health()).toMatchObject({
      ...failing,
      problems: [{ code: "inbox_fails" }, { code: "lost", count: 3, severity: "critical" }],
    });
    clock.advance(29_999);
    expect(await receiver.health()).toMatchObject(failing);
    clock.advance(1);
    expect(await receiver.health()).toMatchObject({ ready: true, inbox: { ok: true } });
    await send("report");
    expect((await receiver.health()).ready).toBe(false);
    full.mockRestore();
    await send("report");
    expect((await receiver.health()).ready).toBe(true);
    // Once a minute, with their number.
    const ofStore = lines.filter(({ message }) => message === messages.notStored);
    expect(ofStore.map(({ fields }) => fields["count"])).toEqual([1]);
  });
});
