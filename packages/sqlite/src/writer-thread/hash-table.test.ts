import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HashTable } from "./hash-table.ts";

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe("entries", () => {
  it("HashTable.get() and set() do as a Map does", () => {
    const entry = fc.tuple(
      fc.oneof(word, fc.constantFrom(0, 1)),
      fc.constantFrom(0, 1, 2 ** 32 - 1),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5_000, size: "max" }), (entries) => {
        const base = 2 ** 40;
        const keys = new HashTable(entries.length);
        const map = new Map<string, number>();
        for (const [index, hash] of entries.entries()) {
          expect(keys.get(hash)).toBe(map.get(hash.join()) ?? null);
          keys.set(hash, base + index + 1);
          map.set(hash.join(), base + index + 1);
        }
        for (const hash of entries) expect(keys.get(hash)).toBe(map.get(hash.join()));
      }),
      { numRuns: 20 },
    );
  });

  it("a hash table keeps the last numbers, and room for hardly more", () => {
    const keys = new HashTable(1_000);
    for (let number = 1; number <= 100_000; number++) keys.set([number, 7 * number], number);
    for (let number = 99_001; number <= 100_000; number++) {
      expect(keys.get([number, 7 * number])).toBe(number);
    }
    expect(keys.get([1, 7])).toBeNull();
    let left = 0;
    for (let number = 1; number <= 100_000; number++) {
      if (keys.get([number, 7 * number]) !== null) left++;
    }
    expect(left).toBeLessThan(2_000);
  });

  it("a hash table holds numbers of any size, however far they are from those before", () => {
    const keys = new HashTable(10);
    for (const number of [1, 2 ** 32 + 5, 2 ** 40]) {
      keys.set([number % 7, 1], number);
      expect(keys.get([number % 7, 1])).toBe(number);
    }
  });
});
