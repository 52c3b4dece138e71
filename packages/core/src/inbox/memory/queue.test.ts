import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MemoryDelivery } from "./dedupe-window.ts";
import { MemoryQueue } from "./queue.ts";

const minuteMs = 60_000;

function item(
  arrivedAt: number,
  dueAt: number = arrivedAt,
  lastTurnAt: number | null = null,
): MemoryDelivery {
  return { arrivedAt, dueAt, lastTurnAt } as MemoryDelivery;
}

function drain<T>(pop: () => T | undefined): T[] {
  const all: T[] = [];
  for (let value = pop(); value !== undefined; value = pop()) all.push(value);
  return all;
}

describe("order", () => {
  it("MemoryQueue.pop() gives the newest to verify first while it is young, then deprioritized ones, then those past 5 minutes", () => {
    const queue = new MemoryQueue("verify");
    const now = 60 * minuteMs;
    const late = item(now - 5 * minuteMs);
    const later = item(now - 6 * minuteMs);
    const old = item(now - 5 * minuteMs + 1);
    const young = item(now - 1);
    const polite = item(now - 2, now - 2, now - 9);
    for (const value of [young, late, polite, old, later]) queue.push(value, now);
    expect(drain(() => queue.pop(now))).toEqual([young, old, polite, late, later]);
  });

  it("MemoryQueue.pop() gives deprioritized ones in turn, whenever they came due", () => {
    const queue = new MemoryQueue("verify");
    const [last, first] = [item(1, 10, 5), item(2, 20, 4)];
    for (const value of [last, first]) queue.push(value, 5);
    expect(drain(() => queue.pop(20))).toEqual([first, last]);
  });

  it("MemoryQueue.pop() gives deliveries to handle in the order in which they come due", () => {
    const queue = new MemoryQueue("handle");
    const [first, second, third] = [item(9, 10), item(1, 20), item(2, 30)];
    for (const value of [third, second, first]) queue.push(value, 5);
    expect(queue.pop(9)).toBeUndefined();
    expect(queue.pop(25)).toBe(first);
    expect(queue.pop(25)).toBe(second);
    expect(queue.pop(25)).toBeUndefined();
    expect(queue.nextDueAt).toBe(30);
    expect(queue.pop(30)).toBe(third);
    expect(queue.nextDueAt).toBeUndefined();
  });

  it("MemoryQueue.pop() gives each once and none before it is due, after any pushes", () => {
    const time = fc.integer({ min: 0, max: 20 * minuteMs });
    const items = fc.array(fc.tuple(time, time, fc.option(time)));
    fc.assert(
      fc.property(fc.constantFrom("verify", "handle"), items, (stage, all) => {
        const queue = new MemoryQueue(stage);
        const values = all.map(([at, due, turn]) => item(at, Math.max(at, due), turn));
        for (const value of values) queue.push(value, 0);
        const popped = new Set<unknown>();
        for (let now = 0; now <= 20 * minuteMs; now += minuteMs) {
          for (const value of drain(() => queue.pop(now))) {
            expect(value.dueAt).toBeLessThanOrEqual(now);
            expect(popped.has(value)).toBe(false);
            popped.add(value);
          }
        }
        expect(popped.size).toBe(values.length);
      }),
    );
  });
});
