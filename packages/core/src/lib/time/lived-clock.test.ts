import { manualClock } from "@reporthook/testing/internals";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "./clock.ts";
import { LivedClock } from "./lived-clock.ts";

const hourMs = 3_600_000;

/** A given clock of which each part can be set: what it shows, when its timers fire, and what the process has run through. */
function givenClock() {
  const { advance, ...virtual } = manualClock(1_000);
  let wrongMs = 0;
  let ranMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => ranMs);
  const clock: Clock = { ...virtual, now: () => virtual.now() + wrongMs };
  const lived = new LivedClock(clock);
  const steps: number[] = [];
  lived.onStep = (ms) => void steps.push(ms);
  return {
    lived,
    steps,
    advance,
    set: (ms: number) => {
      wrongMs = ms;
    },
    /** Time passes for the process, too. */
    live(ms: number) {
      ranMs += ms;
      advance(ms);
    },
  };
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a given clock", () => {
  it("LivedClock.clearTimeout() asks for nothing where no timer was set: it may be an object with a method", () => {
    const cancel = vi.fn();
    const setTimeout = () => ({ cancel });
    const clearTimeout = (timer: unknown) => (timer as { cancel(): void }).cancel();
    const lived = new LivedClock({ now: () => 0, setTimeout, clearTimeout });
    lived.clearTimeout(undefined);
    lived.clearTimeout(lived.setTimeout(() => {}, 1));
    expect(cancel).toHaveBeenCalledOnce();
  });

  it("LivedClock.now() goes on from its last reading when the clock is set, and tells by how much", () => {
    for (const ms of [31 * 24 * hourMs, -31 * 24 * hourMs, hourMs, -31_000]) {
      const { lived, steps, set, live } = givenClock();
      lived.tick();
      live(10_000);
      const before = lived.now();
      set(ms);
      expect(lived.now()).toBe(before);
      lived.wallNow();
      expect(steps).toEqual([ms]);
      expect(lived.wallOffset).toBe(ms);
      live(5_000);
      expect(lived.now()).toBe(before + 5_000);
    }
  });

  it("LivedClock.now() does not go back for a small difference, and says nothing of it", () => {
    const { lived, steps, set, live } = givenClock();
    lived.tick();
    live(10_000);
    const before = lived.now();
    set(-2_000);
    expect(lived.now()).toBe(before);
    lived.wallNow();
    set(1_000);
    lived.wallNow();
    expect(steps).toEqual([]);
  });

  it("LivedClock.now() counts the time that the process stood still, also before its tick comes", () => {
    const { lived, steps, live } = givenClock();
    lived.tick();
    const before = lived.now();
    live(10 * 60_000);
    lived.wallNow();
    expect([lived.now() - before, steps]).toEqual([10 * 60_000, []]);
  });

  it("LivedClock.now() believes a clock whose timers are virtual, however late they fire", () => {
    let now = 1_000;
    let callbacks: (() => void)[] = [];
    const setTimeout = (callback: () => void) => callbacks.push(callback);
    const lived = new LivedClock({ now: () => now, setTimeout, clearTimeout() {} });
    lived.tick();
    for (const ms of [500, 60_000, hourMs]) lived.setTimeout(() => {}, ms);
    now += 5 * hourMs;
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
    expect(lived.now()).toBe(1_000 + 5 * hourMs);
  });

  it.each([0, 499, 1_000])(
    "LivedClock.now() believes a virtual clock that passes hours although a timer of %d ms fires first, which does not tell",
    (firstMs) => {
      let [now, ranMs] = [1_000, 0];
      vi.spyOn(performance, "now").mockImplementation(() => ranMs);
      const callbacks: (() => void)[] = [];
      const setTimeout = (callback: () => void) => callbacks.push(callback);
      const lived = new LivedClock({ now: () => now, setTimeout, clearTimeout() {} });
      lived.tick();
      for (const ms of [firstMs, 60_000]) lived.setTimeout(() => {}, ms);
      ranMs += 500;
      now += 5 * hourMs;
      for (const callback of callbacks) callback();
      expect(lived.now()).toBe(now);
    },
  );

  it("LivedClock.now() does not jump when a virtual clock that was set is right again", () => {
    const { lived, set, advance } = givenClock();
    lived.tick();
    const before = lived.now();
    for (const ms of [0, 60_000]) lived.setTimeout(() => {}, ms);
    set(5 * hourMs);
    advance(0);
    set(0);
    advance(60_000);
    expect(lived.now()).toBe(before + 60_000);
  });

  it("LivedClock.now() has passed the time of a timer, although the clock was set back meanwhile", () => {
    const { lived, set, live } = givenClock();
    lived.tick();
    const before = lived.now();
    let passed = 0;
    lived.setTimeout(() => {
      passed = lived.now() - before;
    }, 5_000);
    live(4_000);
    set(-hourMs);
    live(1_000);
    expect(passed).toBe(5_000);
  });

  it("LivedClock.now() has passed the time of a short timer where the clock stands still", () => {
    const { lived, set, live } = givenClock();
    const before = lived.now();
    let passed = 0;
    lived.setTimeout(() => {
      passed = lived.now() - before;
    }, 40);
    set(-40);
    live(40);
    expect(passed).toBe(40);
  });

  it("LivedClock.now() follows the clock until the first tick", () => {
    const { lived, advance, set } = givenClock();
    const before = lived.now();
    advance(hourMs);
    set(hourMs);
    expect(lived.now()).toBe(before + 2 * hourMs);
  });
});

describe("the system's clock", () => {
  it("LivedClock.now() runs as the process does, with a wall clock set to any time", () => {
    let [ranMs, wall] = [5, 1_000_000];
    vi.spyOn(performance, "now").mockImplementation(() => ranMs);
    vi.spyOn(Date, "now").mockImplementation(() => wall);
    const lived = new LivedClock(systemClock);
    const steps: number[] = [];
    lived.onStep = (ms) => void steps.push(ms);
    expect([lived.now(), lived.wallNow()]).toEqual([1_000_000, 1_000_000]);
    ranMs += 1_000;
    wall += 1_000 - 8 * hourMs;
    expect([lived.now(), lived.wallNow()]).toEqual([1_001_000, 1_001_000 - 8 * hourMs]);
    wall += 29_000;
    lived.wallNow();
    expect(steps).toEqual([-8 * hourMs]);
    expect(lived.wallOffset).toBe(29_000 - 8 * hourMs);
  });

  it("LivedClock.now() goes by the date of a test runner that has replaced the timers, and never jumps", () => {
    const lived = new LivedClock(systemClock);
    const steps: number[] = [];
    lived.onStep = (ms) => void steps.push(ms);
    const before = lived.now();
    vi.useFakeTimers({ now: 5 });
    const begun = lived.now();
    expect(begun - before).toBeLessThan(1_000);
    vi.advanceTimersByTime(hourMs);
    expect([lived.now() - begun, lived.wallNow()]).toEqual([hourMs, 5 + hourMs]);
    vi.setSystemTime(0);
    expect(lived.now() - begun).toBe(hourMs);
    vi.useRealTimers();
    expect(lived.now() - begun - hourMs).toBeLessThan(1_000);
    lived.wallNow();
    expect(steps).toEqual([]);
  });

  it("LivedClock.now() goes on from where it is told", () => {
    const { lived, live } = givenClock();
    lived.goOnFrom(77, 0);
    const running = lived.running();
    live(10);
    expect([lived.now(), lived.running() - running, lived.wallOffset]).toEqual([87, 10, 923]);
  });
});
