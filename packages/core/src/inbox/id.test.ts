import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { idAt, idOf, newId, timeOf } from "./id.ts";

describe("new ids", () => {
  it("newId() gives 26 characters that need no escaping", () => {
    expect(newId(Date.now())).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it("newId() sorts by time, and by creation when the clock stands still, goes back a little or has fractions", () => {
    const steps = fc.array(fc.double({ min: -500, max: 2 ** 20, noNaN: true }), { minLength: 2 });
    fc.assert(
      fc.property(steps, (all) => {
        let now = 2 ** 30;
        let latest = now;
        newId(0);
        const ids = all.map((step) => {
          now = Math.max(now + step, latest - 1_000);
          latest = Math.max(now, latest);
          return newId(now);
        });
        expect(ids).toEqual([...ids].sort());
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it("newId() does not stay in the future of a clock that was ahead", () => {
    const now = 2 ** 40;
    newId(now + 86_400_000);
    expect(timeOf(newId(now))).toBe(now);
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

  it("newId() begins with its time, as idAt() has it", () => {
    const now = 2 ** 43;
    expect(newId(now).slice(0, 10)).toBe(idAt(now));
    expect(newId(now + 0.5).slice(0, 10)).toBe(idAt(now));
    expect(newId(now + 1).slice(0, 10)).toBe(idAt(now + 1));
  });

  it("newId() ends each id with 60 new random bits", () => {
    const pairsOf = (id: string) => [14, 16, 18, 20, 22, 24].map((at) => id.slice(at, at + 2));
    const ids = Array.from({ length: 2_000 }, () => pairsOf(newId(2 ** 43)));
    let again = 0;
    for (const [index, pairs] of ids.entries()) {
      const before = ids[index - 1] ?? [];
      again += pairs.filter((pair, at) => before.includes(pair) || pairs.indexOf(pair) < at).length;
    }
    // By chance one of 1,024 each time: about 100.
    expect(again).toBeLessThan(400);
  });
});

describe("ends", () => {
  it("idAt() is between the ids made before and those made from then on", () => {
    const now = 2 ** 44;
    expect(newId(now - 1) < idAt(now)).toBe(true);
    expect(idAt(now) < newId(now)).toBe(true);
  });

  it("idAt() is the first or the last of all for times that no id has", () => {
    expect([idAt(-1), idAt(0), idAt(0.5)]).toEqual(Array(3).fill("0000000000"));
    expect([idAt(31), idAt(32), idAt(2 ** 49)]).toEqual(["000000000z", "0000000010", "g000000000"]);
    expect([idAt(2 ** 50 - 1), idAt(2 ** 50), idAt(Infinity)]).toEqual(Array(3).fill("zzzzzzzzzz"));
  });
});

describe("times", () => {
  it("timeOf() is the moment an id was made for", () => {
    for (const now of [0, 1_700_000_000_123, 2 ** 45]) expect(timeOf(idAt(now))).toBe(now);
    const now = 2 ** 46;
    expect(timeOf(newId(now))).toBe(now);
  });
});

describe("keys", () => {
  const keyOf = (first: number) => Uint8Array.from({ length: 24 }, (_, at) => first + at);

  it("idOf() has a character for the low bits of each byte, and two for the high bits of the first bytes", () => {
    expect(idOf(keyOf(0))).toBe("0123456789abcdefghjkmnpq00");
    expect(idOf(keyOf(231))).toBe("789abcdefghjkmnpqrstvwxywx");
  });

  it("idOf() is 26 characters for a shorter key, too", () => {
    expect(idOf(keyOf(1).subarray(0, 12))).toBe("123456789abc00000001111100");
  });
});
