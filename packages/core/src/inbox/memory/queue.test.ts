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
