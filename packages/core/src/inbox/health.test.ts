import { gate, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { zeroCounts } from "./query.ts";

describe("health", () => {
  it("health() tells how long the oldest has waited, whatever the clock was set to", async () => {
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

  it("health() asks nothing of an inbox that is closed with the receiver, nor goes on asking", async () => {
    const inbox = memoryInbox();
    const { receiver } = setUp({ inbox });
    let answer = (): void => {};
    const health = vi.spyOn(inbox, "health").mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ ok: true });
        }),
    );
    const counts = vi.spyOn(inbox, "counts");
    const asked = receiver.health();
    await receiver.close();
    answer();
    const closed = { ready: false, inbox: { ok: true }, oldestWaitingMs: null };
    expect(await asked).toMatchObject(closed);
    expect(await receiver.health()).toMatchObject(closed);
    expect(health).toHaveBeenCalledTimes(1);
    expect(counts).not.toHaveBeenCalled();
  });

  it("health() is not ready when the inbox gives no answer within 4 seconds", async () => {
    const clock = manualClock();
    const health = (): Promise<never> => new Promise(() => {});
    const { receiver } = setUp({ inbox: Object.assign(memoryInbox(), { health }), clock });
    const asked = receiver.health();
    clock.advance(4_000);
    const inbox = { ok: false, error: "Error: The inbox gave no answer within 4000 ms" };
    expect(await asked).toMatchObject({ ready: false, inbox, oldestWaitingMs: null });
  });

  it("health() is ready while it takes longer to count, and tells what was counted last", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver, send } = setUp({ inbox, clock, autostart: false });
    await send("report");
    expect(await receiver.health()).toMatchObject({ ready: true, counts: { received: 1 } });
    const at = new Date(clock.now()).toISOString();
    const late = `It takes over 4000 ms to count: counts are of ${at}`;
    const slow = gate();
    const counts = vi.spyOn(inbox, "counts").mockImplementation(() => slow.opened.then(zeroCounts));
    for (const oldestWaitingMs of [4_000, 8_000]) {
      const asked = receiver.health();
      await turns();
      clock.advance(4_000);
      const counted = { oldestWaitingMs, counts: { received: 1 } };
      expect(await asked).toMatchObject({
        ready: true,
        inbox: { ok: true, error: late },
        ...counted,
      });
    }
    // It is not asked to count while it does.
    expect(counts).toHaveBeenCalledTimes(1);
    slow.open();
    counts.mockRestore();
    await send("report");
    await turns();
    const known = { inbox: { ok: true }, counts: { received: 2 } };
    expect(await receiver.health()).toMatchObject(known);
  });

  it("health() is not ready when counting fails, except to callers who came while it went on", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver } = setUp({ inbox, clock });
    const none = { inbox: { ok: true, error: expect.stringMatching("none are known") } };
    const failed = { ready: false, inbox: { ok: false, error: "Error: too long" } };
    let fail = (): void => {};
    vi.spyOn(inbox, "counts").mockImplementation(
      () =>
        new Promise((_, reject) => {
          fail = () => reject(new Error("too long"));
        }),
    );
    const [first, second] = [receiver.health(), receiver.health()];
    await turns();
    fail();
    expect(await first).toMatchObject(failed);
    expect(await second).toMatchObject({ ready: true, ...none });
    const third = receiver.health();
    await turns();
    clock.advance(4_000);
    expect(await third).toMatchObject({ ready: true, ...none });
    const fourth = receiver.health();
    await turns();
    fail();
    expect(await fourth).toMatchObject({ ready: true, ...none });
  });

  it("health() gives up a count that never ends after a minute, and says nothing once it is closed", async () => {
    const clock = manualClock();
    const inbox = memoryInbox();
    const { receiver, send } = setUp({ inbox, clock, autostart: false });
    await send("report");
    const counts = vi.spyOn(inbox, "counts").mockReturnValueOnce(new Promise(() => {}));
    const first = receiver.health();
    await turns();
    clock.advance(60_000);
    await first;
    expect((await receiver.health()).counts.received).toBe(1);
    counts.mockReturnValueOnce(new Promise(() => {}));
    const last = receiver.health();
    await turns();
    await receiver.close();
    clock.advance(4_000);
    expect(await last).toMatchObject({ ready: false, counts: { received: 0 } });
  });

  it("health() is not ready when the inbox says so, or fails to say anything", async () => {
    for (const health of [
      async () => ({ ok: false, error: "Error: full" }),
      () => Promise.reject(new Error("full")),
    ]) {
      const { receiver } = setUp({ inbox: Object.assign(memoryInbox(), { health }) });
      const inbox = { ok: false, error: "Error: full" };
      const expected = { ready: false, inbox, oldestWaitingMs: null };
      expect(await receiver.health()).toMatchObject(expected);
    }
  });
});
