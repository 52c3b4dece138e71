import { gate } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { afterEach, describe, expect, it, vi } from "vitest";
import { loggerOf } from "../lib/log.ts";
import { systemClock } from "../lib/time/clock.ts";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { acquireInbox, type Holder, releaseInbox, releaseName, reserveName } from "./receivers.ts";

const silent = loggerOf("", {});
const durable = { ...memoryInbox().guarantees, durability: "fsync" } as const;
const holderOf = (inbox: Holder["inbox"] = memoryInbox()) => ({
  inbox,
  answer: async () => ({ status: 200, headers: {}, body: "" }),
  close: vi.fn(async () => {}),
});
const onFile = (identity: string) => holderOf({ identity, guarantees: durable });

/** Reserves a name; returns what has it. */
function reserve(receiver: Omit<Holder, "name">, name: string, isChosen: boolean): Holder {
  const holder = { ...receiver, name };
  reserveName(holder, isChosen, silent);
  return holder;
}

afterEach(() => void vi.unstubAllEnvs());

describe("names", () => {
  it("reserveName() throws when the name is taken on the same store, also through another object", () => {
    reserve(onFile("/data/inbox.db"), "reports", false);
    expect(() => reserve(onFile("/data/inbox.db"), "reports", false)).toThrow(TypeError);
    reserve(onFile("/data/inbox.db"), "others", false);
    reserve(holderOf(), "reports", false);
  });

  it("reserveName() takes a name over in development, on the same store alone", () => {
    vi.stubEnv("NODE_ENV", "development");
    const [one, two, other] = [onFile("/a.db"), onFile("/a.db"), onFile("/b.db")];
    const first = reserve(one, "saved", true);
    expect(() => reserve(other, "saved", true)).toThrow(/"saved" is taken/);
    const second = reserve(two, "saved", true);
    expect(one.close).toHaveBeenCalledOnce();
    expect([first.successor, second.successor]).toEqual([second, undefined]);
    releaseName(first);
    vi.unstubAllEnvs();
    expect(() => reserve(onFile("/a.db"), "saved", false)).toThrow(/"saved" is taken/);
    releaseName(second);
    reserve(onFile("/a.db"), "saved", false);
  });

  it("reserveName() takes a name over in development from an inbox in memory", () => {
    vi.stubEnv("NODE_ENV", "development");
    const one = holderOf();
    reserve(one, "in memory", true);
    reserve(holderOf(), "in memory", true);
    expect(one.close).toHaveBeenCalledOnce();
  });
});

/** An inbox with so many receivers, and its `close` as a spy. */
function acquired(receivers: number) {
  const inbox = memoryInbox();
  const close = vi.spyOn(inbox, "close");
  for (let count = 0; count < receivers; count++) acquireInbox(inbox);
  return { inbox, close, release: () => releaseInbox(inbox, systemClock, 0) };
}

describe("the last receiver", () => {
  it("releaseInbox() closes the inbox with the last receiver, each object of one store by itself", async () => {
    const [one, other] = [acquired(2), acquired(1)];
    Object.assign(one.inbox, { identity: "same" });
    Object.assign(other.inbox, { identity: "same" });
    await one.release();
    await other.release();
    expect([one, other].map(({ close }) => close.mock.calls.length)).toEqual([0, 1]);
    await one.release();
    expect(one.close).toHaveBeenCalledTimes(1);
  });

  it("releaseInbox() closes the inbox once at a time, and not while there is a receiver again", async () => {
    const { close, inbox, release } = acquired(1);
    const slow = gate();
    close.mockImplementationOnce(() => slow.opened);
    const first = release();
    acquireInbox(inbox);
    const second = release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(close).toHaveBeenCalledTimes(1);
    acquireInbox(inbox);
    slow.open();
    await Promise.all([first, second]);
    expect(close).toHaveBeenCalledTimes(1);
    await release();
    expect(close).toHaveBeenCalledTimes(2);
  });

  it("releaseInbox() rejects with inbox_failed when closing fails", async () => {
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
  ])("releaseInbox() with %d ms left waits %d ms for a hanging inbox", async (leftMs, waitedMs) => {
    const { close, inbox } = acquired(1);
    close.mockImplementation(() => new Promise(() => {}));
    const clock = manualClock();
    const told = vi.fn();
    const ended = releaseInbox(inbox, clock, leftMs).catch(told);
    clock.advance(waitedMs - 1);
    await new Promise(setImmediate);
    expect(told).not.toHaveBeenCalled();
    clock.advance(1);
    await ended;
    expect(told.mock.lastCall?.[0].message).toMatch("could not be closed: it gives no answer");
    expect(clock.pending).toBe(0);
  });
});
