import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { LivedClock } from "../lib/time/lived-clock.ts";
import type { TimeMark } from "./inbox.ts";
import { laterMark, noMark, Timekeeper } from "./timekeeper.ts";

const hourMs = 3_600_000;
const start = 100 * hourMs;

/** The mark of a process at this lived time, by a wall clock that was never further. */
const markOf = (livedAt: number, wallAt: number): TimeMark => ({
  ...noMark,
  livedAt,
  wallAt,
  furthestAt: wallAt,
});

function setUp(mark: TimeMark = noMark) {
  const { now, ...timers } = manualClock(start);
  let wrongMs = 0;
  const given = { ...timers, now: () => now() + wrongMs };
  const store = {
    mark,
    keepTime: vi.fn(async (one: TimeMark) => {
      store.mark = laterMark(store.mark, one);
      return store.mark;
    }),
  };
  const begin = (): Timekeeper => {
    const clock = new LivedClock(given);
    const time = new Timekeeper(store, clock);
    clock.onStep = () => void time.keep();
    return time;
  };
  const set = (ms: number): void => {
    wrongMs = ms;
  };
  return { time: begin(), begin, store, given, set };
}

describe("lived time", () => {
  it("a Timekeeper begins with the wall clock on a new store, and keeps the time each minute and at the end", async () => {
    const { time, store, given } = setUp();
    await time.join();
    time.begin();
    expect(time.clock.now()).toBe(start);
    given.advance(60_000);
    await vi.waitFor(() => expect(store.mark.livedAt).toBe(start + 60_000));
    given.advance(30_000);
    await time.end();
    const at = start + 90_000;
    expect(store.mark).toEqual({ livedAt: at, wallAt: at, furthestAt: at, unseenMs: 0, heldMs: 0 });
    expect(given.pending).toBe(0);
  });

  it.each([
    ["has passed what the wall clock has gained", start - hourMs, hourMs],
    ["has lost nothing when the wall clock was set back", start + hourMs, 0],
  ])("a Timekeeper goes on from the mark of a store: %s", async (_, wallAt, passed) => {
    const { time } = setUp(markOf(5_000, wallAt));
    await time.join();
    expect(time.clock.now()).toBe(5_000 + passed);
    expect(time.clock.wallNow()).toBe(start);
  });

  it("a Timekeeper knows nothing of the time before it, if another process began a moment ago with a clock that had gained", async () => {
    const { time, begin, set } = setUp(markOf(5_000, start));
    set(hourMs);
    await time.join();
    time.begin();
    const second = begin();
    await second.join();
    expect(time.clock.knownSince).toBe(5_000 + hourMs);
    expect(second.clock.knownSince).toBe(5_000 + hourMs);
  });

  it("a Timekeeper keeps the time when the wall clock is set", async () => {
    const { time, store, set } = setUp();
    await time.join();
    time.begin();
    set(8 * hourMs);
    time.clock.wallNow();
    const wallAt = start + 8 * hourMs;
    const mark = markOf(start, wallAt);
    await vi.waitFor(() => expect(store.mark).toEqual(mark));
    await time.end();
  });

  it("joinAndKeep() keeps the time once, so that a process after one that began with a wrong clock is not behind it", async () => {
    const { time, begin, store, set } = setUp(markOf(start - 1_000, start));
    set(8 * hourMs);
    await time.joinAndKeep();
    await time.joinAndKeep();
    expect(store.keepTime).toHaveBeenCalledTimes(2);
    set(0);
    const next = begin();
    await next.join();
    expect(next.clock.now()).toBeGreaterThanOrEqual(time.clock.now());
  });

  it("a Timekeeper follows another process that is ahead on the same store", async () => {
    const { time, store, given } = setUp();
    await time.join();
    time.begin();
    store.mark = markOf(start + 5 * hourMs, start);
    given.advance(60_000);
    await vi.waitFor(() => expect(time.clock.now()).toBe(start + 5 * hourMs));
    expect(time.retentionNow).toBe(start + 60_000);
    // The 5 hours of the other process do not count as its own age.
    expect(time.isYoung).toBe(true);
    await time.end();
  });

  it("a Timekeeper judges no retention for an hour, and holds it back by what has not passed before the start", async () => {
    const day = 24 * hourMs;
    const setup = setUp(markOf(start, start - 2 * hourMs));
    setup.set(31 * day);
    const { time } = setup;
    await time.join();
    time.begin();
    const begun = time.clock.now();
    expect([begun, time.isYoung]).toEqual([start + 31 * day + 2 * hourMs, true]);
    setup.given.advance(60_000);
    setup.set(0);
    time.clock.wallNow();
    setup.given.advance(hourMs);
    expect(time.isYoung).toBe(false);
    expect(time.retentionNow).toBe(begun + 60_000 + hourMs - 31 * day);
    await time.end();
    const next = setup.begin();
    await next.join();
    next.begin();
    setup.given.advance(hourMs);
    expect(next.retentionNow).toBe(begun + 60_000 + 2 * hourMs - 31 * day);
    await next.end();
  });

  it("a Timekeeper finds out in the next process that the clock of the last one was ahead at its start", async () => {
    const { time, begin, set } = setUp({ ...noMark, livedAt: start, furthestAt: start });
    set(31 * 24 * hourMs);
    await time.join();
    time.begin();
    await time.end();
    set(0);
    const next = begin();
    await next.join();
    expect([next.clock.now(), next.retentionNow]).toEqual([start + 31 * 24 * hourMs, start]);
  });

  it("a Timekeeper takes a wall clock that begins far behind, and is right in the next process, for time that has not passed", async () => {
    const { time, begin, given, set } = setUp({ ...noMark, livedAt: 5_000, furthestAt: start });
    set(-40 * hourMs);
    await time.join();
    time.begin();
    given.advance(30 * 60_000);
    await time.end();
    set(0);
    const next = begin();
    await next.join();
    expect(next.clock.now()).toBe(5_000 + 30 * 60_000);
    next.begin();
    set(-40 * hourMs);
    given.advance(hourMs + 120_000);
    await next.end();
    set(-39 * hourMs);
    const last = begin();
    await last.join();
    // By now it is believed: an hour has passed.
    expect(last.clock.now()).toBe(5_000 + 30 * 60_000 + 2 * hourMs + 120_000);
  });

  it("a Timekeeper tells when the store can't keep the time, and joins again after a failure", async () => {
    const { time, store, given } = setUp();
    store.keepTime.mockRejectedValueOnce(new Error("away"));
    await expect(time.join()).rejects.toThrow("away");
    await time.join();
    const errors: unknown[] = [];
    time.onError = (error) => void errors.push(error);
    time.begin();
    store.keepTime.mockRejectedValueOnce(new Error("full"));
    given.advance(60_000);
    await vi.waitFor(() => expect(errors).toHaveLength(1));
    await time.end();
  });

  it("a Timekeeper needs no store that keeps the time", async () => {
    const time = new Timekeeper({}, new LivedClock(manualClock(start)));
    await time.join();
    time.begin();
    expect(time.clock.now()).toBe(start);
    await time.end();
  });
});
