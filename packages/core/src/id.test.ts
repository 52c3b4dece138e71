import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newId } from "./id.ts";

describe("newId", () => {
  it("newId() gives 26 characters that need no escaping", () => {
    expect(newId(Date.now())).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it("newId() sorts by time, and by creation when the clock stands still, goes back or has fractions", () => {
    const times = fc.array(fc.double({ min: 0, max: 2 ** 41, noNaN: true }), { minLength: 2 });
    fc.assert(
      fc.property(times, (moments) => {
        const ids = moments.map(newId);
        expect(ids).toEqual([...ids].sort());
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it("newId() keeps the order of more than a million ids of one millisecond", () => {
    const now = 2 ** 42;
    let last = newId(now);
    let sorted = true;
    for (let count = 0; count < 2 ** 20 + 10; count++) {
      const id = newId(now);
      sorted &&= last < id;
      last = id;
    }
    expect(sorted).toBe(true);
    expect(newId(now) > last).toBe(true);
  });
});
