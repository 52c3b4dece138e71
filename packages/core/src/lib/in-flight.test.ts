import { describe, expect, it } from "vitest";
import { InFlight } from "./in-flight.ts";

describe("items", () => {
  it("an InFlight has the items that were added and not deleted", () => {
    const running = new InFlight();
    const [a, b, c, other] = [{ place: -1 }, { place: -1 }, { place: -1 }, { place: 0 }];
    for (const item of [a, b, c]) running.add(item);
    expect(running.delete(a)).toBe(true);
    expect([running.size, new Set(running)]).toEqual([2, new Set([b, c])]);
    expect(running.delete(a)).toBe(false);
    expect(running.delete(other)).toBe(false);
    expect(running.delete(b)).toBe(true);
    expect([...running]).toEqual([c]);
    expect(running.delete(c)).toBe(true);
    expect(running.size).toBe(0);
  });

  it("an InFlight tells all that wait when it is empty, and at once one that asks then", async () => {
    const running = new InFlight();
    const items = [{ place: -1 }, { place: -1 }];
    for (const item of items) running.add(item);
    const told: string[] = [];
    const waiting = ["one", "other"].map((name) => running.emptied().then(() => told.push(name)));
    for (const item of items) {
      await Promise.resolve();
      expect(told).toEqual([]);
      running.delete(item);
    }
    await Promise.all([...waiting, running.emptied()]);
    expect(told).toEqual(["one", "other"]);
  });

  it("an InFlight can be emptied and filled while it is gone through", () => {
    const running = new InFlight();
    for (const place of [1, 2, 3]) running.add({ place });
    let seen = 0;
    for (const item of running) {
      seen++;
      running.delete(item);
      running.add({ place: -1 });
    }
    expect([seen, running.size]).toEqual([3, 3]);
  });
});
