import { newKept } from "@reporthook/core/store";
import { describe, expect, it, vi } from "vitest";
import { virtualClock } from "../../../core/src/testing/virtual-clock.ts";
import type { Leased } from "../protocol/results.ts";
import { Ahead } from "./prefetch.ts";

const giveBack = vi.fn();

/** What is leased ahead, by a clock that stands still. */
function make(): { ahead: Ahead; advance: (ms: number) => void } {
  giveBack.mockClear();
  const clock = virtualClock();
  return { ahead: new Ahead(giveBack, clock), advance: (ms) => clock.advance(ms) };
}

let seq = 0;

function leased(bytes = 10): Leased {
  seq++;
  const delivery = {
    ...{ id: `id-${seq}`, receiver: "a", receivedAt: 0, key: null, signature: null, url: "/" },
    ...{ context: null, headers: {}, body: new Uint8Array(bytes), ackMs: 0 },
  };
  return { seq, owner: 1, kept: newKept(delivery, { to: "received" }, null) };
}

/** So many took so long. */
function worked(ahead: Ahead, ms: number, times = 100): void {
  for (let i = 0; i < times; i++) ahead.took(ms);
}

describe("Ahead", () => {
  it("wants nothing before work is known to be short, nor while it is long", () => {
    const { ahead } = make();
    expect(ahead.wanted(16)).toBe(0);
    worked(ahead, 6);
    expect(ahead.wanted(16)).toBe(0);
  });

  it("wants what is likely to begin within a quarter of a second, up to 1,000", () => {
    const { ahead } = make();
    worked(ahead, 4);
    expect(ahead.wanted(8)).toBe(500);
    expect(ahead.wanted(1)).toBe(62);
    worked(ahead, 0);
    expect(ahead.wanted(2)).toBe(500);
    expect(ahead.wanted(16)).toBe(1_000);
  });

  it("wants nothing more with 16 MB of bodies, until these have begun", () => {
    const { ahead } = make();
    worked(ahead, 0);
    for (let i = 0; i < 16; i++) ahead.push(leased(2 ** 20));
    expect(ahead.wanted(16)).toBe(0);
    ahead.shift();
    expect(ahead.wanted(16)).toBe(1_000);
  });

  it("gives out the first first, and asks to give back what has not begun for half a second", () => {
    const { ahead, advance } = make();
    const [one, other] = [leased(), leased()];
    ahead.push(one);
    advance(300);
    ahead.push(other);
    expect(ahead.shift()).toMatchObject({ seq: one.seq });
    advance(499);
    expect(giveBack).not.toHaveBeenCalled();
    advance(1);
    expect(giveBack).toHaveBeenCalledOnce();
    expect(ahead.clear()).toMatchObject([{ seq: other.seq }]);
    expect(ahead.length).toBe(0);
    expect(ahead.shift()).toBeUndefined();
  });

  it("gives nothing back at once when the event loop stood still: nothing could begin", () => {
    giveBack.mockClear();
    let [now, fire] = [0, (): void => {}];
    const ahead = new Ahead(giveBack, {
      now: () => now,
      setTimeout: (callback) => {
        fire = callback;
      },
      clearTimeout: () => {},
    });
    ahead.push(leased());
    now = 700;
    fire();
    expect(giveBack).not.toHaveBeenCalled();
    now = 1_200;
    fire();
    expect(giveBack).toHaveBeenCalledOnce();
  });

  it("clear() forgets that work was short, and what it held", () => {
    const { ahead, advance } = make();
    worked(ahead, 0);
    for (let i = 0; i < 16; i++) ahead.push(leased(2 ** 20));
    expect(ahead.clear()).toHaveLength(16);
    expect(ahead.wanted(16)).toBe(0);
    worked(ahead, 0);
    expect(ahead.wanted(16)).toBe(1_000);
    advance(1_000);
    expect(giveBack).not.toHaveBeenCalled();
  });
});
