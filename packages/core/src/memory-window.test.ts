import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DedupeWindow, keyText } from "./memory-window.ts";

const dayMs = 86_400_000;

function keyOf(signature: number, content: number): string {
  const key = new Uint8Array(24);
  const view = new DataView(key.buffer);
  view.setUint32(0, signature);
  view.setUint32(12, content);
  return keyText(key);
}

describe("DedupeWindow", () => {
  it("look() knows a key for 24 hours", () => {
    const window = new DedupeWindow();
    window.add(keyOf(1, 1), "a", 1_000);
    expect(window.look(keyOf(1, 1), 1_000 + dayMs - 1)).toEqual({ duplicateOf: "a" });
    expect(window.look(keyOf(1, 1), 1_000 + dayMs)).toEqual({});
    expect(window.size).toBe(0);
  });

  it("look() still knows a reused signature when the last that had it is forgotten", () => {
    const window = new DedupeWindow();
    window.add(keyOf(1, 1), "a", 0);
    window.add(keyOf(1, 2), "b", 0);
    window.forget("b");
    expect(window.look(keyOf(1, 3), 0)).toEqual({ sameSignatureAs: "a" });
  });

  it("look() agrees with a naive model, whatever is added, forgotten and pruned", () => {
    const few = fc.integer({ min: 0, max: 2 });
    const step = fc.record({
      kind: fc.constantFrom("add", "add", "add", "forget", "prune"),
      signature: few,
      content: few,
      laterMs: fc.constantFrom(0, 1, dayMs / 3, dayMs),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const window = new DedupeWindow();
        let model: { id: string; signature: number; content: number; at: number }[] = [];
        let now = 0;
        for (const [index, { kind, signature, content, laterMs }] of steps.entries()) {
          now += laterMs;
          model = model.filter(({ at }) => now - at < dayMs);
          const key = keyOf(signature, content);
          const siblings = model.filter((one) => one.signature === signature);
          const same = siblings.find((one) => one.content === content);
          const seen = window.look(key, now);
          expect(seen.duplicateOf).toBe(same?.id);
          expect(seen.sameSignatureAs).toBe(same === undefined ? siblings[0]?.id : undefined);
          if (kind === "add" && same === undefined) {
            window.add(key, `${index}`, now);
            model.push({ id: `${index}`, signature, content, at: now });
          } else if (kind === "forget" && same !== undefined) {
            window.forget(same.id);
            model = model.filter((one) => one !== same);
          } else if (kind === "prune") {
            window.prune(now);
            expect(window.size).toBe(model.length);
          }
        }
      }),
    );
  });

  it("add() replaces a key that is there already", () => {
    const window = new DedupeWindow();
    window.add(keyOf(1, 1), "a", 0);
    window.add(keyOf(1, 1), "b", 1);
    expect(window.look(keyOf(1, 1), 1)).toEqual({ duplicateOf: "b" });
    expect(window.size).toBe(1);
  });

  it("add() drops the oldest beyond 200,000 keys", () => {
    const window = new DedupeWindow();
    for (let count = 0; count < 200_100; count++) window.add(keyOf(count, 0), `${count}`, 0);
    expect(window.size).toBe(200_000);
    expect(window.look(keyOf(99, 0), 0)).toEqual({});
    expect(window.look(keyOf(100, 0), 0)).toEqual({ duplicateOf: "100" });
  });
});
