import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClock } from "./clock.ts";

const HOUR = 3_600_000;

// Real time stands still: only advance() moves the clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

test("now() is real time plus the advanced time", () => {
  const { clock } = createClock();
  clock.advance(HOUR);
  expect(clock.now()).toBe(Date.now() + HOUR);
  vi.setSystemTime(Date.now() + 7);
  expect(clock.now()).toBe(Date.now() + HOUR);
});

test.each([HOUR, -HOUR, 5 * 365 * 24 * HOUR])(
  "now() goes on as before when the system's clock is set by %i ms",
  (ms) => {
    const { clock } = createClock();
    clock.advance(7);
    const before = clock.now();
    vi.setSystemTime(Date.now() + ms);
    expect(Math.abs(clock.now() - before)).toBeLessThan(20_000);
    clock.advance(HOUR);
    expect(Math.abs(clock.now() - before - HOUR)).toBeLessThan(20_000);
  },
);

test("advance() fires timers in the order they fall due, each at its time", () => {
  const { clock } = createClock();
  const start = clock.now();
  const fired: [string, number][] = [];
  const note = (name: string) => () => fired.push([name, (clock.now() - start) / HOUR]);
  clock.setTimeout(note("late"), 3 * HOUR);
  clock.setTimeout(() => {
    note("first")();
    clock.setTimeout(note("set meanwhile"), HOUR);
  }, HOUR);
  clock.setTimeout(note("far"), 9 * HOUR);
  clock.advance(4 * HOUR);
  expect(fired).toEqual([
    ["first", 1],
    ["set meanwhile", 2],
    ["late", 3],
  ]);
  clock.advance(6 * HOUR);
  expect(fired.at(-1)).toEqual(["far", 9]);
});

test("advance() ends when a callback keeps setting the next timer", () => {
  const { clock } = createClock();
  let runs = 0;
  const again = () => {
    runs += 1;
    clock.setTimeout(again, 0);
  };
  again();
  clock.advance(20);
  expect(runs).toBeGreaterThan(1);
});

test("setTimeout() waits for longer than the runtime's own timers can", () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const { clock } = createClock();
  let fired = 0;
  const days = 24 * HOUR;
  clock.setTimeout(() => fired++, 60 * days);
  vi.advanceTimersByTime(60 * days - 1);
  expect(fired).toBe(0);
  vi.advanceTimersByTime(1);
  expect(fired).toBe(1);
});

test("setTimeout() fires earlier in real time once some of it was advanced", async () => {
  const { clock } = createClock();
  const fired = new Promise<void>((resolve) => clock.setTimeout(resolve, HOUR).unref().ref());
  clock.advance(HOUR - 20);
  await fired;
});

test("clearTimeout() stops a timer, and ignores other values", () => {
  const { clock } = createClock();
  let fired = false;
  const timer = clock.setTimeout(() => {
    fired = true;
  }, HOUR);
  clock.clearTimeout(timer);
  clock.clearTimeout(timer);
  clock.clearTimeout(undefined);
  clock.clearTimeout(7);
  clock.advance(2 * HOUR);
  expect(fired).toBe(false);
});

test("rewind() goes back to real time and leaves timers their remaining time", () => {
  const { clock, rewind } = createClock();
  let fired = false;
  clock.advance(5 * HOUR);
  clock.setTimeout(() => {
    fired = true;
  }, 2 * HOUR);
  clock.advance(HOUR);
  rewind();
  expect(clock.now()).toBe(Date.now());
  clock.advance(HOUR - 1);
  expect(fired).toBe(false);
  clock.advance(1);
  expect(fired).toBe(true);
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as never])(
  "advance() throws when given %s",
  (ms) => {
    expect(() => createClock().clock.advance(ms)).toThrow(TypeError);
  },
);
