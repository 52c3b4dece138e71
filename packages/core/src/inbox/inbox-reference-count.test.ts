import { gate } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, vi } from "vitest";
import { systemClock } from "../lib/time/clock.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { referenceCountOf } from "./inbox-reference-count.ts";
import { memoryInbox } from "./memory/memory-inbox.ts";

/** An inbox with so many receivers, and its `close` as a spy. */
function acquired(receivers: number) {
  const inbox = memoryInbox();
  const close = vi.spyOn(inbox, "close");
  const shared = referenceCountOf(inbox);
  for (let count = 0; count < receivers; count++) shared.acquire();
  return { inbox, close, shared, release: () => shared.release(systemClock, 0) };
}

describe("the last receiver", () => {
  it("release() closes the inbox with the last receiver, each object of one store by itself", async () => {
    const [one, other] = [acquired(2), acquired(1)];
    Object.assign(one.inbox, { identity: "same" });
    Object.assign(other.inbox, { identity: "same" });
    expect(referenceCountOf(one.inbox)).toBe(one.shared);
    await one.release();
    await other.release();
    expect([one, other].map(({ close }) => close.mock.calls.length)).toEqual([0, 1]);
    await one.release();
    expect(one.close).toHaveBeenCalledTimes(1);
  });

  it("release() closes the inbox once at a time, and not while there is a receiver again", async () => {
    const { close, shared, release } = acquired(1);
    const slow = gate();
    close.mockImplementationOnce(() => slow.opened);
    const first = release();
    shared.acquire();
    const second = release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(close).toHaveBeenCalledTimes(1);
    shared.acquire();
    slow.open();
    await Promise.all([first, second]);
    expect(close).toHaveBeenCalledTimes(1);
    await release();
    expect(close).toHaveBeenCalledTimes(2);
  });

  it("release() rejects with inbox_failed when closing fails", async () => {
    const { close, release } = acquired(1);
    close.mockRejectedValue(new Error("busy"));
    await expect(release()).rejects.toMatchObject({
      code: "inbox_failed",
      message: "The inbox could not be closed: Error: busy",
    });
  });

  it.each([
    [0, 2_000],
    [7_000, 7_000],
  ])("release() with %d ms left waits %d ms for a hanging inbox", async (leftMs, waitedMs) => {
    const { close, shared } = acquired(1);
    close.mockImplementation(() => new Promise(() => {}));
    const clock = manualClock();
    const told = vi.fn();
    const ended = shared.release(clock, leftMs).catch(told);
    clock.advance(waitedMs - 1);
    await new Promise(setImmediate);
    expect(told).not.toHaveBeenCalled();
    clock.advance(1);
    await ended;
    expect(told.mock.lastCall?.[0].message).toMatch("could not be closed: it gives no answer");
    expect(clock.pending).toBe(0);
  });
});
