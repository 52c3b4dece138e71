import { describe, expect, it, vi } from "vitest";
import { gate } from "../../test-support/receiver-setup.ts";
import { systemClock } from "../lib/clock.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { useOf } from "./shared-inbox.ts";

/** An inbox, how often it was closed, and its use by so many receivers. */
function used(receivers: number) {
  const inbox = memoryInbox();
  const close = vi.spyOn(inbox, "close");
  const use = useOf(inbox);
  for (let count = 0; count < receivers; count++) use.begin();
  const failed = vi.fn();
  const end = () => use.end(systemClock, 0);
  const look = <T>(what: () => Promise<T>) => use.look(what, systemClock, failed);
  return { inbox, close, use, failed, end, look };
}

const nothing = async (): Promise<void> => {};

describe("InboxUse", () => {
  it("closes the inbox with the last receiver, each object of one store by itself", async () => {
    const [one, other] = [used(2), used(1)];
    Object.assign(one.inbox, { identity: "same" });
    Object.assign(other.inbox, { identity: "same" });
    expect(useOf(one.inbox)).toBe(one.use);
    await one.end();
    await other.end();
    expect([one, other].map(({ close }) => close.mock.calls.length)).toEqual([0, 1]);
    await one.end();
    expect(one.close).toHaveBeenCalledTimes(1);
  });

  it("closes it again once nobody looks any more, unless there is a receiver again", async () => {
    const { close, use, end, look } = used(1);
    await look(nothing);
    expect(close).not.toHaveBeenCalled();
    const slow = gate();
    const looking = look(() => slow.opened);
    await end();
    await look(nothing);
    expect(close).toHaveBeenCalledTimes(1);
    slow.open();
    await looking;
    expect(close).toHaveBeenCalledTimes(2);
    use.begin();
    await look(nothing);
    expect(close).toHaveBeenCalledTimes(2);
  });

  it("looks only once closing is over", async () => {
    const { close, end, look } = used(1);
    const slow = gate();
    close.mockImplementationOnce(() => slow.opened);
    const ending = end();
    const seen: string[] = [];
    const looking = look(async () => void seen.push("looked"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
    slow.open();
    await Promise.all([ending, looking]);
    expect(seen).toEqual(["looked"]);
  });

  it("is not closed again for one who looked while it was, once there is a receiver again", async () => {
    const { close, use, end, look } = used(1);
    const [slow, looked] = [gate(), gate()];
    close.mockImplementationOnce(() => slow.opened);
    const looking = look(() => looked.opened);
    const ending = end();
    looked.open();
    await new Promise((resolve) => setImmediate(resolve));
    use.begin();
    slow.open();
    await Promise.all([ending, looking]);
    expect(close).toHaveBeenCalledTimes(1);
    await end();
    expect(close).toHaveBeenCalledTimes(2);
  });

  it("says when closing fails, and gives what was seen all the same", async () => {
    const { close, failed, end, look } = used(1);
    const unclosed = {
      code: "inbox_failed",
      message: "The inbox could not be closed: Error: busy",
    };
    close.mockRejectedValue(new Error("busy"));
    await expect(end()).rejects.toMatchObject(unclosed);
    expect(await look(async () => 7)).toBe(7);
    await expect(look(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
    expect(failed.mock.calls).toEqual([
      [expect.objectContaining(unclosed)],
      [expect.objectContaining(unclosed)],
    ]);
  });

  it.each([
    [0, 2_000],
    [7_000, 7_000],
  ])("with %d ms left waits %d ms for one that gives no answer", async (leftMs, waitedMs) => {
    const { close, use } = used(1);
    close.mockImplementation(() => new Promise(() => {}));
    const clock = virtualClock();
    const told = vi.fn();
    const ended = use.end(clock, leftMs).catch(told);
    clock.advance(waitedMs - 1);
    await new Promise(setImmediate);
    expect(told).not.toHaveBeenCalled();
    clock.advance(1);
    await ended;
    expect(told.mock.lastCall?.[0].message).toMatch("could not be closed: it gives no answer");
    expect(clock.pending).toBe(0);
  });
});
