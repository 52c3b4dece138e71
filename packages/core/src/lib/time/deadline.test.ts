import { hasSettled, never } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { Deadline } from "./deadline.ts";
import { LivedClock } from "./lived-clock.ts";

function begin(ms = 5_000) {
  const clock = manualClock(1_000);
  return { clock, deadline: new Deadline(clock, ms) };
}

/** Expects that a race is late after so many milliseconds, and not before. */
async function expectLate(race: Promise<unknown>, advance: (ms: number) => void, ms: number) {
  advance(ms - 1);
  expect(await hasSettled(race)).toBe(false);
  advance(1);
  expect(await race).toBe("late");
}

describe("time left", () => {
  it("Deadline.leftMs counts from its start, below zero when it is over, and never more than there was", () => {
    const { clock, deadline } = begin();
    expect(deadline.leftMs).toBe(5_000);
    clock.advance(6_000);
    expect([deadline.leftMs, deadline.elapsedMs]).toEqual([-1_000, 6_000]);
  });

  it("Deadline.race() settles as the step does when that is in time", async () => {
    const { deadline } = begin();
    expect(await deadline.race(Promise.resolve("done"), 10)).toBe("done");
    const failure = new Error("no");
    await expect(deadline.race(Promise.reject(failure), 10)).rejects.toBe(failure);
  });

  it("Deadline.race() is late when its time is over, and not a moment before", async () => {
    const { clock, deadline } = begin();
    await expectLate(deadline.race(never(), 10), clock.advance, 10);
    expect(clock.pending).toBe(0);
  });

  it.each([5_000, 60_000])("Deadline.race() of %i ms is late when all are over", async (ms) => {
    const { clock, deadline } = begin();
    clock.advance(2_000);
    await expectLate(deadline.race(never(), ms), clock.advance, 3_000);
  });

  it.each([
    [100, 50],
    [50, 50],
    [50, 100],
  ])("Deadline.race() gives two steps of %i and %i ms one timer", async (first, second) => {
    const { clock, deadline } = begin();
    await deadline.race(Promise.resolve(), first);
    clock.advance(20);
    const race = deadline.race(never(), second);
    expect(clock.pending).toBe(1);
    await expectLate(race, clock.advance, second);
    expect(clock.pending).toBe(0);
  });

  it("Deadline.race() sets no timer again for a step that ends later", async () => {
    let set = 0;
    const { clock } = begin();
    const counting = {
      ...clock,
      setTimeout: (...given: Parameters<typeof clock.setTimeout>) => {
        set++;
        return clock.setTimeout(...given);
      },
    };
    const deadline = new Deadline(counting, 5_000);
    for (let step = 0; step < 10; step++) await deadline.race(Promise.resolve(), 50 + step);
    expect(set).toBe(1);
  });

  it.each([-3_600_000, 3_600_000])(
    "Deadline.race() is late in time, whatever the clock was set to: by %i ms",
    async (ms) => {
      const { clock } = begin();
      let shift = 0;
      const lived = new LivedClock({ ...clock, now: () => clock.now() + shift });
      lived.tick();
      const race = new Deadline(lived, 5_000).race(never(), 1_000);
      clock.advance(900);
      shift = ms;
      await expectLate(race, clock.advance, 100);
    },
  );

  it("Deadline.race() is late in time although a timer for an earlier step came late", async () => {
    const { clock } = begin();
    let lag = 0;
    const deadline = new Deadline({ ...clock, running: () => clock.now() + lag }, 5_000);
    await deadline.race(Promise.resolve(), 2_000);
    const race = deadline.race(never(), 5_000);
    lag = 1_500;
    clock.advance(2_000);
    await expectLate(race, clock.advance, 1_500);
  });

  it("Deadline.within() settles as the step does when that is in time", async () => {
    const { deadline } = begin();
    expect(await deadline.within(Promise.resolve("done"), "The inbox")).toBe("done");
    const failure = new Error("no");
    await expect(deadline.within(Promise.reject(failure), "The inbox")).rejects.toBe(failure);
  });

  it("Deadline.within() rejects when all are over, and says who gave no answer", async () => {
    const { clock, deadline } = begin();
    await deadline.race(Promise.resolve(), 50);
    clock.advance(2_000);
    const within = deadline.within(never(), "The inbox", ": it sleeps");
    clock.advance(2_999);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    await expect(within).rejects.toThrow("The inbox gave no answer within 5000 ms: it sleeps");
  });

  it("Deadline.end() leaves no timer behind", async () => {
    const { clock, deadline } = begin();
    await deadline.race(Promise.resolve(), 50);
    deadline.end();
    expect(clock.pending).toBe(0);
    deadline.end();
  });
});
