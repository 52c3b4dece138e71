import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Chains, hashOf, none } from "./chains.ts";

function slotsOf(chains: Chains, hash: number): number[] {
  const slots: number[] = [];
  for (let slot = chains.first(hash); slot !== none; slot = chains.after(slot)) slots.push(slot);
  return slots;
}

describe("Chains", () => {
  it("first() and after() give the slots of a hash in the order in which they were added", () => {
    const slots = 16;
    const anyHashes = fc.array(fc.nat(0xffffffff), { minLength: slots, maxLength: slots });
    const steps = fc.array(fc.nat(slots - 1));
    fc.assert(
      fc.property(anyHashes, steps, fc.constantFrom(2, 16), (hashes, toggled, places) => {
        const chains = new Chains(slots, places);
        let model: number[] = [];
        for (const slot of toggled) {
          const hash = hashes[slot] ?? 0;
          if (model.includes(slot)) chains.remove(hash, slot);
          else chains.add(hash, slot);
          model = model.includes(slot) ? model.filter((one) => one !== slot) : [...model, slot];
          for (const [one, hash] of hashes.entries()) {
            const found = slotsOf(chains, hash);
            expect(found.includes(one)).toBe(model.includes(one));
            expect(found).toEqual(model.filter((one) => found.includes(one)));
          }
        }
      }),
    );
  });
});

describe("hashOf()", () => {
  it("spreads keys that were chosen to have the same sum or exclusive or, in any place", () => {
    const seeds = Uint32Array.of(0x12345678, 0x9abcdef0);
    const number = 20_000;
    const made = [
      (n: number) => [n, 0, 0, n, 0, 0],
      (n: number) => [n << 16, n << 16, 0, 0, 0, 0],
      (n: number) => [0, n, 0, 0, -n, 0],
      (n: number) => [0, 0, 0, 0, 0, n],
    ];
    for (const wordsOf of made) {
      const places = new Set<number>();
      for (let n = 0; n < number; n++) {
        places.add(hashOf(Uint32Array.from(wordsOf(n)), 0, 6, seeds) >>> 14);
      }
      // Into 2^18 places, as if by chance: 19,253.
      expect(places.size).toBeGreaterThan(0.9 * number);
    }
  });

  it("falls together for others when the seeds are others, and looks at no other words", () => {
    const one = Uint32Array.of(7, 1, 2, 3, 7);
    const other = Uint32Array.of(8, 1, 2, 3, 8);
    const seeds = Uint32Array.of(1, 2);
    expect(hashOf(one, 1, 3, seeds)).toBe(hashOf(other, 1, 3, seeds));
    expect(hashOf(one, 1, 3, seeds)).not.toBe(hashOf(one, 1, 3, Uint32Array.of(3, 2)));
    expect(hashOf(one, 1, 3, seeds)).not.toBe(hashOf(one, 1, 3, Uint32Array.of(1, 4)));
  });
});
