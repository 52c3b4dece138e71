import fc from "fast-check";
import { expect, it } from "vitest";
import { Heap } from "./heap.ts";

const rank = fc.integer({ min: 0, max: 20 });
const place = fc.nat({ max: 99 });
const step = fc.oneof(
  { weight: 9, arbitrary: fc.record({ push: rank }) },
  { weight: 1, arbitrary: fc.record({ pop: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ remove: place }) },
  { weight: 1, arbitrary: fc.record({ removeAll: fc.array(place) }) },
);

it("a Heap gives the smallest rank first, equal ranks in the order they went in, after any pushes, pops and removals", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: "max" }), (steps) => {
      const heap = new Heap<number>();
      let model: { readonly rank: number; readonly item: number }[] = [];
      for (const [item, one] of steps.entries()) {
        if ("push" in one) {
          heap.push(one.push, item);
          model.push({ rank: one.push, item });
          model.sort((a, b) => a.rank - b.rank);
        } else if ("pop" in one) {
          expect(heap.pop()).toBe(model.shift()?.item);
        } else if ("remove" in one) {
          const isThere = model.some(({ item }) => item === one.remove);
          expect(heap.remove(one.remove)).toBe(isThere);
          model = model.filter(({ item }) => item !== one.remove);
        } else {
          const chosen = new Set(one.removeAll);
          const removed = model.map(({ item }) => item).filter((item) => chosen.has(item));
          expect(new Set(heap.removeAll(chosen))).toEqual(new Set(removed));
          model = model.filter(({ item }) => !chosen.has(item));
        }
        expect([heap.size, heap.rank]).toEqual([model.length, model[0]?.rank]);
      }
      expect(model.map(() => heap.pop())).toEqual(model.map(({ item }) => item));
      expect(heap.pop()).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});
