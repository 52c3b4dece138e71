import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Heap } from "./heap.ts";

describe("order", () => {
  it("Heap.pop() gives the smallest rank first, equal ranks in the order they went in", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (ranks) => {
        const heap = new Heap<number>();
        for (const [index, rank] of ranks.entries()) heap.push(rank, index);
        expect(heap.size).toBe(ranks.length);
        expect(heap.rank).toBe(ranks.length === 0 ? undefined : Math.min(...ranks));
        const popped = ranks.map(() => heap.pop());
        const sorted = [...ranks.keys()].sort((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0));
        expect(popped).toEqual(sorted);
        expect(heap.pop()).toBeUndefined();
        expect(heap.size).toBe(0);
      }),
    );
  });

  it("Heap.push() and pop() keep the order when they alternate", () => {
    const steps = fc.array(fc.option(fc.integer({ min: 0, max: 9 }), { nil: null }));
    fc.assert(
      fc.property(steps, (all) => {
        const heap = new Heap<string>();
        const model: { rank: number; value: string }[] = [];
        for (const [index, rank] of all.entries()) {
          if (rank === null) {
            expect(heap.pop()).toBe(model.shift()?.value);
          } else {
            heap.push(rank, `${index}`);
            model.push({ rank, value: `${index}` });
            model.sort((a, b) => a.rank - b.rank);
          }
        }
      }),
    );
  });

  it("Heap.remove() takes an item out, wherever it is, and leaves the others in their order", () => {
    const ranks = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1 });
    fc.assert(
      fc.property(ranks, fc.nat(), (all, pick) => {
        const heap = new Heap<number>();
        for (const [index, rank] of all.entries()) heap.push(rank, index);
        const removed = pick % all.length;
        expect(heap.remove(removed)).toBe(true);
        expect(heap.remove(removed)).toBe(false);
        expect(heap.size).toBe(all.length - 1);
        const others = [...all.keys()].filter((index) => index !== removed);
        const sorted = others.sort((a, b) => (all[a] ?? 0) - (all[b] ?? 0));
        expect(others.map(() => heap.pop())).toEqual(sorted);
      }),
    );
  });

  it("Heap.removeAll() takes the given items out, and leaves the others in their order", () => {
    const ranks = fc.array(fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(ranks, fc.array(fc.nat({ max: 20 })), (all, picks) => {
        const heap = new Heap<number>();
        for (const [index, rank] of all.entries()) heap.push(rank, index);
        const chosen = new Set(picks);
        const inside = [...all.keys()].filter((index) => chosen.has(index));
        expect(heap.removeAll(chosen).sort((a, b) => a - b)).toEqual(inside);
        expect(heap.removeAll(chosen)).toEqual([]);
        const others = [...all.keys()].filter((index) => !chosen.has(index));
        const sorted = others.sort((a, b) => (all[a] ?? 0) - (all[b] ?? 0));
        expect(others.map(() => heap.pop())).toEqual(sorted);
      }),
    );
  });
});
