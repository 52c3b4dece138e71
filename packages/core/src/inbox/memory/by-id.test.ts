import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newId } from "../id.ts";
import { ById } from "./by-id.ts";

describe("ById", () => {
  it("keeps what a map with the same ids keeps", () => {
    // Ids that share a beginning, some of which lie in the same map, and some that are shorter than any of ours.
    const ids = fc.constantFrom(
      ...[
        "01hf0000000000001",
        "01hf0000000000002",
        "01hf0000100000001",
        "01hf0000100000002",
        "a",
        "",
      ],
    );
    const steps = fc.array(fc.tuple(ids, fc.constantFrom("add", "delete")));
    fc.assert(
      fc.property(steps, (taken) => {
        const all = new ById<number>();
        const model = new Map<string, number>();
        for (const [at, [id, step]] of taken.entries()) {
          if (step === "delete") {
            all.delete(id);
            model.delete(id);
          } else if (!model.has(id)) {
            all.add(id, at);
            model.set(id, at);
          }
          expect(all.size).toBe(model.size);
          expect(all.get(id)).toBe(model.get(id));
        }
        expect([...all.values()].sort()).toEqual([...model.values()].sort());
      }),
    );
  });

  it("values() gives new ids in their order, also when some are deleted on the way", () => {
    const all = new ById<string>();
    const ids = Array.from({ length: 1_000 }, (_, at) => newId(1_790_000_000_000 + 7 * at));
    for (const id of ids) all.add(id, id);
    const seen: string[] = [];
    for (const id of all.values()) {
      seen.push(id);
      if (seen.length % 3 === 0) all.delete(id);
    }
    expect(seen).toEqual(ids);
    expect(all.size).toBe(667);
    expect([...all.values()]).toEqual(ids.filter((_, at) => at % 3 !== 2));
  });
});
