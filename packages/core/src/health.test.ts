import { describe, expect, it } from "vitest";
import { setUp } from "../../../test/receiver-setup.ts";
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
