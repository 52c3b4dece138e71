import { newStoredDelivery } from "@reporthook/core/store";
import { testDelivery } from "@reporthook/test-support/jobs";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { PrefetchBuffer } from "./prefetch.ts";
import type { Leased } from "./thread-connection.ts";

const onOverdue = vi.fn();

/** A buffer with a clock that stands still. */
function make(): { buffer: PrefetchBuffer; advance: (ms: number) => void } {
  onOverdue.mockClear();
  const clock = manualClock();
  return { buffer: new PrefetchBuffer(onOverdue, clock), advance: (ms) => clock.advance(ms) };
}

let seq = 0;

function leased(bytes = 10): Leased {
  seq++;
  const delivery = testDelivery({ id: `id-${seq}`, signature: null, body: new Uint8Array(bytes) });
  return {
    connection: { holdsLeases: () => true, complete: () => {}, isOver: false },
    claimed: { consumer: 1, seq, stored: null, isFirstStart: true, cost: 1 },
    workerId: 1,
    stored: newStoredDelivery(delivery, { to: "received" }, null),
  };
}

/** Work took this long, a number of times. */
function worked(buffer: PrefetchBuffer, ms: number, times = 100): void {
  for (let i = 0; i < times; i++) buffer.noteDuration(ms);
}

describe("leases ahead", () => {
  it("a PrefetchBuffer wants nothing before work is known to be short, nor while it is long", () => {
    const { buffer } = make();
    expect(buffer.target(16)).toBe(0);
    worked(buffer, 6);
    expect(buffer.target(16)).toBe(0);
  });

  it("a PrefetchBuffer wants as many as are likely to begin within a quarter of a second, up to 1,000", () => {
    const { buffer } = make();
    worked(buffer, 4);
    expect(buffer.target(8)).toBe(500);
    expect(buffer.target(1)).toBe(62);
    worked(buffer, 0);
    expect(buffer.target(2)).toBe(500);
    expect(buffer.target(16)).toBe(1_000);
  });

  it("a PrefetchBuffer wants nothing more with 16 MB of bodies, until these have begun", () => {
    const { buffer } = make();
    worked(buffer, 0);
    for (let i = 0; i < 16; i++) buffer.push(leased(2 ** 20));
    expect(buffer.target(16)).toBe(0);
    buffer.shift();
    expect(buffer.target(16)).toBe(1_000);
  });

  it("a PrefetchBuffer gives out the first first, and tells what has not begun for half a second", () => {
    const { buffer, advance } = make();
    const [one, other] = [leased(), leased()];
    buffer.push(one);
    advance(300);
    buffer.push(other);
    expect(buffer.shift()).toBe(one);
    advance(499);
    expect(onOverdue).not.toHaveBeenCalled();
    advance(1);
    expect(onOverdue).toHaveBeenCalledOnce();
    expect(buffer.clear()).toEqual([other]);
    expect(buffer.length).toBe(0);
    expect(buffer.shift()).toBeUndefined();
  });

  it("a PrefetchBuffer gives nothing back at once when the event loop stood still: nothing could begin", () => {
    onOverdue.mockClear();
    let [now, fire] = [0, (): void => {}];
    const buffer = new PrefetchBuffer(onOverdue, {
      now: () => now,
      setTimeout: (callback) => {
        fire = callback;
      },
      clearTimeout: () => {},
    });
    buffer.push(leased());
    now = 700;
    fire();
    expect(onOverdue).not.toHaveBeenCalled();
    now = 1_200;
    fire();
    expect(onOverdue).toHaveBeenCalledOnce();
  });

  it("PrefetchBuffer.clear() forgets that work was short, and the leases that it held", () => {
    const { buffer, advance } = make();
    worked(buffer, 0);
    for (let i = 0; i < 16; i++) buffer.push(leased(2 ** 20));
    expect(buffer.clear()).toHaveLength(16);
    expect(buffer.target(16)).toBe(0);
    worked(buffer, 0);
    expect(buffer.target(16)).toBe(1_000);
    advance(1_000);
    expect(onOverdue).not.toHaveBeenCalled();
  });
});
