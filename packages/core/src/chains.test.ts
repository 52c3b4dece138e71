import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Chains, none } from "./chains.ts";

function slotsOf(chains: Chains, hash: number): number[] {
  const slots: number[] = [];
  for (let slot = chains.first(hash); slot !== none; slot = chains.after(slot)) slots.push(slot);
  return slots;
}

describe("Chains", () => {
  it("first() and after() give the slots of a hash in the order in which they were added", () => {
    const slots = 16;
    const hashes = fc.array(fc.nat(40), { minLength: slots, maxLength: slots });
    const steps = fc.array(fc.nat(slots - 1));
    const seeds = fc.uint32Array({ minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(hashes, steps, seeds, (hashOf, toggled, seeds) => {
        const chains = new Chains(slots, seeds);
        let model: number[] = [];
        for (const slot of toggled) {
          const hash = hashOf[slot] ?? 0;
          if (model.includes(slot)) chains.remove(hash, slot);
          else chains.add(hash, slot);
          model = model.includes(slot) ? model.filter((one) => one !== slot) : [...model, slot];
          for (const [one, hash] of hashOf.entries()) {
            const found = slotsOf(chains, hash);
            expect(found.includes(one)).toBe(model.includes(one));
            expect(found).toEqual(model.filter((one) => found.includes(one)));
          }
        }
      }),
    );
  });

  it("other seeds put other hashes together", () => {
    const slots = 2 ** 12;
    const placed = (seeds: Uint32Array, hashes: readonly number[]): Chains => {
      const chains = new Chains(slots, seeds);
      for (const [slot, hash] of hashes.entries()) chains.add(hash, slot);
      return chains;
    };
    const all = Array.from({ length: slots }, (_, index) => index * 1_000_003);
    const known = placed(Uint32Array.of(1, 0x9e3779b9), all);
    const together = all.map((hash) => slotsOf(known, hash)).sort((a, b) => b.length - a.length);
    const chosen = (together[0] ?? []).map((slot) => all[slot] ?? 0);
    expect(chosen.length).toBeGreaterThan(1);
    const [first = 0] = chosen;
    const others = [3, 5, 7, 11].map((one) => {
      const chains = placed(Uint32Array.of(one, 0x85ebca6b + 2 * one), chosen);
      return slotsOf(chains, first).length;
    });
    expect(Math.min(...others)).toBeLessThan(chosen.length);
  });
});
