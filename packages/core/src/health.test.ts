import { describe, expect, it, vi } from "vitest";
import { gate, setUp, turns } from "../../../test/receiver-setup.ts";
import { noCounts } from "./look.ts";
import { memoryInbox } from "./memory-inbox.ts";
import { virtualClock } from "./testing/virtual-clock.ts";

describe("health()", () => {
  it("tells how long the oldest has waited, never less than no time", async () => {
    const { now, ...timers } = virtualClock();
    let setBackMs = 0;
    const clock = { ...timers, now: () => now() - setBackMs };
    const { receiver, send } = setUp({ clock, autostart: false });
    expect((await receiver.health()).oldestWaitingMs).toBeNull();
    await send("report");
    timers.advance(1_234);
    expect(await receiver.health()).toMatchObject({ ready: true, oldestWaitingMs: 1_234 });
    setBackMs = 60_000;
    expect((await receiver.health()).oldestWaitingMs).toBe(0);
  });

  it("asks nothing of an inbox that is closed with the receiver, nor goes on asking", async () => {
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

  it("is not ready when the inbox gives no answer within 4 seconds", async () => {
    const clock = virtualClock();
    const health = (): Promise<never> => new Promise(() => {});
    const { receiver } = setUp({ inbox: Object.assign(memoryInbox(), { health }), clock });
    const asked = receiver.health();
    clock.advance(4_000);
    const inbox = { ok: false, error: "Error: The inbox gave no answer within 4000 ms" };
    expect(await asked).toMatchObject({ ready: false, inbox, oldestWaitingMs: null });
  });

  it("is ready while it takes longer to count, and tells what was counted last", async () => {
    const clock = virtualClock();
    const inbox = memoryInbox();
    const { receiver, send } = setUp({ inbox, clock, autostart: false });
    await send("report");
    expect(await receiver.health()).toMatchObject({ ready: true, counts: { received: 1 } });
    const slow = gate();
    const counts = vi.spyOn(inbox, "counts").mockImplementation(() => slow.opened.then(noCounts));
    for (const oldestWaitingMs of [4_000, 8_000]) {
      const asked = receiver.health();
      await turns();
      clock.advance(4_000);
      expect(await asked).toMatchObject({ ready: true, oldestWaitingMs, counts: { received: 1 } });
    }
    // It is not asked to count while it does.
    expect(counts).toHaveBeenCalledTimes(1);
    slow.open();
    counts.mockRestore();
    await send("report");
    await turns();
    expect(await receiver.health()).toMatchObject({ ready: true, counts: { received: 2 } });
  });

  it("is not ready when the inbox says so, or fails to say anything", async () => {
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
