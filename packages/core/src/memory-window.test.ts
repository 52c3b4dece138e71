import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DedupeWindow, Seen } from "./memory-window.ts";

const dayMs = 86_400_000;

function seenOf(signature: number, content: number, at: number, id = "new"): Seen {
  const key = new Uint8Array(24);
  const view = new DataView(key.buffer);
  view.setUint32(0, signature);
  view.setUint32(12, content);
  return new Seen(key, id, at);
}

describe("DedupeWindow", () => {
  it("look() knows a key for 24 hours", () => {
    const window = new DedupeWindow();
    window.add(seenOf(1, 1, 1_000, "a"));
    expect(window.look(seenOf(1, 1, 1_000 + dayMs - 1))).toEqual({ duplicateOf: "a" });
    expect(window.look(seenOf(1, 1, 1_000 + dayMs))).toEqual({});
    expect(window.size).toBe(0);
  });

  it("look() still knows a reused signature when the last that had it is forgotten", () => {
    const window = new DedupeWindow();
    window.add(seenOf(1, 1, 0, "a"));
    const second = seenOf(1, 2, 0, "b");
    window.add(second);
    window.forget(second);
    window.forget(second);
    expect(window.look(seenOf(1, 3, 0))).toEqual({ sameSignatureAs: "a" });
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
        let model: { seen: Seen; signature: number; content: number }[] = [];
        let now = 0;
        for (const [index, { kind, signature, content, laterMs }] of steps.entries()) {
          now += laterMs;
          model = model.filter(({ seen }) => now - seen.at < dayMs);
          const next = seenOf(signature, content, now, `${index}`);
          const siblings = model.filter((one) => one.signature === signature);
          const same = siblings.find((one) => one.content === content);
          const known = window.look(next);
          expect(known.duplicateOf).toBe(same?.seen.id);
          expect(known.sameSignatureAs).toBe(same === undefined ? siblings[0]?.seen.id : undefined);
          if (kind === "add" && same === undefined) {
            window.add(next);
            model.push({ seen: next, signature, content });
          } else if (kind === "forget" && same !== undefined) {
            window.forget(same.seen);
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
    window.add(seenOf(1, 1, 0, "a"));
    window.add(seenOf(1, 1, 1, "b"));
    expect(window.look(seenOf(1, 1, 1))).toEqual({ duplicateOf: "b" });
    expect(window.size).toBe(1);
  });

  it("add() drops the oldest beyond 200,000 keys", () => {
    const window = new DedupeWindow();
    for (let count = 0; count < 200_100; count++) window.add(seenOf(count, 0, 0, `${count}`));
    expect(window.size).toBe(200_000);
    expect(window.look(seenOf(99, 0, 0))).toEqual({});
    expect(window.look(seenOf(100, 0, 0))).toEqual({ duplicateOf: "100" });
  });
});
