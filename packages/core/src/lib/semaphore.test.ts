import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPlaces } from "./semaphore.ts";

const { signal } = new AbortController();

describe("createPlaces()", () => {
  it("gives as many as there are at once, then by rank", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer(), { maxLength: 30 }),
        async (count, ranks) => {
          const places = createPlaces(count);
          for (let place = 0; place < count; place++) expect(places.take(0, signal)).toBe(true);
          const order: number[] = [];
          const taking = ranks.map(async (rank) => {
            expect(await places.take(rank, signal)).toBe(true);
            order.push(rank);
            places.leave();
          });
          expect(order).toEqual([]);
          places.leave();
          await Promise.all(taking);
          expect(order).toEqual([...ranks].sort((a, b) => a - b));
          expect(places.take(0, signal)).toBe(true);
        },
      ),
    );
  });

  it("gives none to whoever has gone", async () => {
    const places = createPlaces(1);
    expect(places.take(0, AbortSignal.abort())).toBe(false);
    expect(places.take(0, signal)).toBe(true);
    const controller = new AbortController();
    const [first, second] = [places.take(1, controller.signal), places.take(2, signal)];
    controller.abort();
    expect(await first).toBe(false);
    places.leave();
    expect(await second).toBe(true);
    places.leave();
    expect(places.take(0, signal)).toBe(true);
  });
});
