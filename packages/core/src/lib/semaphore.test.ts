import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore.ts";

const { signal } = new AbortController();

describe("permits", () => {
  it("acquire() gives as many permits as there are at once, then by rank", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer(), { maxLength: 30 }),
        async (count, ranks) => {
          const semaphore = new Semaphore(count);
          for (let place = 0; place < count; place++)
            expect(semaphore.acquire(0, signal)).toBe(true);
          const order: number[] = [];
          const taking = ranks.map(async (rank) => {
            expect(await semaphore.acquire(rank, signal)).toBe(true);
            order.push(rank);
            semaphore.release();
          });
          expect(order).toEqual([]);
          semaphore.release();
          await Promise.all(taking);
          expect(order).toEqual([...ranks].sort((a, b) => a - b));
          expect(semaphore.acquire(0, signal)).toBe(true);
        },
      ),
    );
  });

  it("acquire() gives no permit when its signal is aborted", async () => {
    const semaphore = new Semaphore(1);
    expect(semaphore.acquire(0, AbortSignal.abort())).toBe(false);
    expect(semaphore.acquire(0, signal)).toBe(true);
    const controller = new AbortController();
    const [first, second] = [semaphore.acquire(1, controller.signal), semaphore.acquire(2, signal)];
    controller.abort();
    expect(await first).toBe(false);
    semaphore.release();
    expect(await second).toBe(true);
    semaphore.release();
    expect(semaphore.acquire(0, signal)).toBe(true);
  });
});
