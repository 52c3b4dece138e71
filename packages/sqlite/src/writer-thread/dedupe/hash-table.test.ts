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
        const keys = new HashTable(base);
        const map = new Map<string, number>();
        for (const [index, hash] of entries.entries()) {
          expect(keys.get(hash)).toBe(map.get(hash.join()) ?? null);
          keys.set(hash, base + index + 1);
          map.set(hash.join(), base + index + 1);
        }
        expect(keys.size).toBe(map.size);
        for (const hash of entries) expect(keys.get(hash)).toBe(map.get(hash.join()));
      }),
      { numRuns: 20 },
    );
  });
});
