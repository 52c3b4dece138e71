import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DedupeWindow } from "./memory-window.ts";

const dayMs = 86_400_000;

function keyOf(signature: number, content: number): Uint8Array {
  const key = new Uint8Array(24);
  const view = new DataView(key.buffer);
  view.setUint32(0, signature);
  view.setUint32(12, content);
  return key;
}

describe("DedupeWindow", () => {
  it("look() knows a key for 24 hours", () => {
    const window = new DedupeWindow();
    expect(window.look(keyOf(1, 1), 1_000)).toEqual({});
    window.add(1, keyOf(1, 1), "a", 1_000);
    expect(window.look(keyOf(1, 1), 1_000 + dayMs - 1)).toEqual({ duplicateOf: "a" });
    expect(window.look(keyOf(1, 1), 1_000 + dayMs)).toEqual({});
    expect(window.size).toBe(0);
  });

  it("look() knows none that is over, although one before it came when the clock was ahead", () => {
    const window = new DedupeWindow();
    window.add(1, keyOf(1, 1), "ahead", dayMs);
    window.add(2, keyOf(2, 1), "a", 0);
    expect(window.look(keyOf(2, 1), dayMs)).toEqual({});
    expect(window.look(keyOf(2, 2), dayMs)).toEqual({});
    expect(window.look(keyOf(1, 1), dayMs)).toEqual({ duplicateOf: "ahead" });
  });

  it("look() still knows a reused signature when the last that had it is forgotten", () => {
    const window = new DedupeWindow();
    window.add(1, keyOf(1, 1), "a", 0);
    window.add(2, keyOf(1, 2), "b", 0);
    window.forget(2);
    window.forget(2);
    expect(window.look(keyOf(1, 3), 0)).toEqual({ sameSignatureAs: "a" });
    expect(window.look(keyOf(1, 2), 0)).toEqual({ sameSignatureAs: "a" });
    expect(window.size).toBe(1);
  });

  it("forget() does nothing for a number that has no key", () => {
    const window = new DedupeWindow();
    window.forget(1);
    window.add(10, keyOf(1, 1), "a", 0);
    window.add(12, keyOf(2, 1), "b", 0);
    for (const number of [9, 11, 13, 1_034]) window.forget(number);
    expect(window.size).toBe(2);
  });

  it("look() agrees with a naive model, whatever is added, forgotten and pruned", () => {
    const few = fc.integer({ min: 0, max: 2 });
    const step = fc.record({
      kind: fc.constantFrom("add", "add", "add", "forget", "prune"),
      signature: few,
      content: few,
      laterMs: fc.constantFrom(0, 1, dayMs / 3, dayMs),
      // Numbers that have no key lie between: beyond the room there is, too.
      skipped: fc.constantFrom(0, 0, 1, 700),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const window = new DedupeWindow();
        let model: {
          id: string;
          at: number;
          number: number;
          signature: number;
          content: number;
        }[] = [];
        let now = 0;
        let number = 0;
        for (const { kind, signature, content, laterMs, skipped } of steps) {
          now += laterMs;
          number += 1 + skipped;
          model = model.filter(({ at }) => now - at < dayMs);
          const siblings = model.filter((one) => one.signature === signature);
          const same = siblings.find((one) => one.content === content);
          const key = keyOf(signature, content);
          const known = window.look(key, now);
          expect(known.duplicateOf).toBe(same?.id);
          expect(known.sameSignatureAs).toBe(same === undefined ? siblings[0]?.id : undefined);
          if (kind === "add" && same === undefined) {
            window.add(number, key, `${number}`, now);
            model.push({ id: `${number}`, at: now, number, signature, content });
          } else if (kind === "forget" && same !== undefined) {
            window.forget(same.number);
            model = model.filter((one) => one !== same);
          } else if (kind === "prune") {
            window.prune(now);
            expect(window.size).toBe(model.length);
          }
        }
      }),
    );
  });

  it("add() drops the oldest beyond 200,000 deliveries", () => {
    const window = new DedupeWindow();
    for (let count = 0; count < 200_100; count++) window.add(count, keyOf(count, 0), `${count}`, 0);
    expect(window.size).toBe(200_000);
    expect(window.look(keyOf(99, 0), 0)).toEqual({});
    expect(window.look(keyOf(100, 0), 0)).toEqual({ duplicateOf: "100" });
    expect(window.look(keyOf(200_099, 0), 0)).toEqual({ duplicateOf: "200099" });
    window.add(1_000_000, keyOf(1, 0), "late", 0);
    expect(window.size).toBe(1);
    expect(window.look(keyOf(200_099, 0), 0)).toEqual({});
  });

  it("look() compares every byte", () => {
    const window = new DedupeWindow();
    window.add(1, keyOf(1, 1), "a", 0);
    for (let at = 0; at < 24; at++) {
      const other = keyOf(1, 1);
      other[at] = 9;
      const known = at < 12 ? {} : { sameSignatureAs: "a" };
      expect(window.look(other, 0)).toEqual(known);
    }
  });
});
