import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DedupeKey, keyText, MemoryDedupeWindow } from "./dedupe-window.ts";

const dayMs = 86_400_000;

function bytesOf(signature: number, content: number): Uint8Array {
  const key = new Uint8Array(24);
  const view = new DataView(key.buffer);
  view.setUint32(0, signature);
  view.setUint32(12, content);
  return key;
}

function keyOf(signature: number, content: number): string {
  return keyText(bytesOf(signature, content));
}

describe("DedupeWindow", () => {
  it("find() knows none that is over, although one before it came when the clock was ahead", () => {
    const window = new MemoryDedupeWindow();
    window.add(keyOf(1, 1), "ahead", dayMs);
    window.add(keyOf(2, 1), "a", 0);
    expect(window.find(keyOf(2, 1), dayMs)).toEqual({});
    expect(window.find(keyOf(2, 2), dayMs)).toEqual({});
    expect(window.find(keyOf(1, 1), dayMs)).toEqual({ duplicateOf: "ahead" });
  });

  it("DedupeWindow.forget() leaves a key that came again", () => {
    const window = new MemoryDedupeWindow();
    const first = window.add(keyOf(1, 1), "a", 0);
    window.forget(first);
    window.add(keyOf(1, 1), "b", 0);
    window.forget(first);
    window.forget(undefined);
    expect(window.find(keyOf(1, 1), 0)).toEqual({ duplicateOf: "b" });
    expect(window.size).toBe(1);
  });

  it("DedupeWindow.add() puts a key that is over, and not dropped yet, behind all that came before it again", () => {
    const window = new MemoryDedupeWindow();
    window.add(keyOf(1, 1), "ahead", dayMs);
    window.add(keyOf(2, 1), "a", 0);
    expect(window.find(keyOf(2, 1), dayMs + 1)).toEqual({});
    window.add(keyOf(2, 1), "b", dayMs + 1);
    window.prune(2 * dayMs);
    expect(window.size).toBe(1);
    expect(window.find(keyOf(2, 2), 2 * dayMs)).toEqual({ sameSignatureAs: "b" });
  });

  it("find() agrees with a naive model after any sequence of additions, removals and prunings", () => {
    const few = fc.integer({ min: 0, max: 2 });
    const step = fc.record({
      kind: fc.constantFrom("add", "add", "add", "forget", "prune", "many"),
      signature: few,
      content: few,
      laterMs: fc.constantFrom(0, 1, dayMs / 3, dayMs),
    });
    type One = { known: DedupeKey; at: number; signature: number; content: number };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const window = new MemoryDedupeWindow();
        let model: One[] = [];
        let now = 0;
        const add = (signature: number, content: number): void => {
          const id = `${signature} ${content} ${now}`;
          const known = window.add(keyOf(signature, content), id, now);
          model.push({ known, at: now, signature, content });
        };
        for (const [index, { kind, signature, content, laterMs }] of steps.entries()) {
          now += laterMs;
          model = model.filter(({ at }) => now - at < dayMs);
          const siblings = model.filter((one) => one.signature === signature);
          const same = siblings.find((one) => one.content === content);
          const known = window.find(keyOf(signature, content), now);
          expect(known.duplicateOf).toBe(same?.known.id);
          expect(known.sameSignatureAs).toBe(
            same === undefined ? siblings[0]?.known.id : undefined,
          );
          if (kind === "add" && same === undefined) {
            add(signature, content);
          } else if (kind === "forget" && same !== undefined) {
            window.forget(same.known);
            model = model.filter((one) => one !== same);
          } else if (kind === "prune") {
            window.prune(now);
            expect(window.size).toBeGreaterThanOrEqual(model.length);
          } else if (kind === "many") {
            // Every third of them is forgotten.
            for (let count = 0; count < 700; count++) add(1_000 * (index + 1) + count, 0);
            model = model.filter(({ signature, known }) => {
              const forgotten = signature >= 1_000 * (index + 1) && signature % 3 === 0;
              if (forgotten) window.forget(known);
              return !forgotten;
            });
          }
        }
        window.prune(now + dayMs);
        expect(window.size).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it("prune() is not held up by a signature whose first key is gone", () => {
    const window = new MemoryDedupeWindow();
    const first = window.add(keyOf(1, 1), "a", 0);
    window.add(keyOf(2, 1), "b", 0);
    window.add(keyOf(1, 2), "c", dayMs / 2);
    window.forget(first);
    window.prune(dayMs);
    expect(window.size).toBe(1);
    window.prune(2 * dayMs);
    expect(window.size).toBe(0);
  });

  it("DedupeWindow.add() drops the oldest beyond 200,000 keys", () => {
    const window = new MemoryDedupeWindow();
    for (let count = 0; count < 200_000; count++) window.add(keyOf(count, 0), `${count}`, 0);
    expect(window.find(keyOf(0, 0), 0)).toEqual({ duplicateOf: "0" });
    window.add(keyOf(200_000, 0), "200000", 0);
    expect(window.size).toBe(198_001);
    expect(window.find(keyOf(1_999, 0), 0)).toEqual({});
    expect(window.find(keyOf(2_000, 0), 0)).toEqual({ duplicateOf: "2000" });
    expect(window.find(keyOf(200_000, 0), 0)).toEqual({ duplicateOf: "200000" });
  });

  it("DedupeWindow.add() keeps a key while any number of others comes and is forgotten", () => {
    const window = new MemoryDedupeWindow();
    window.add(keyOf(1, 1), "genuine", 0);
    for (let count = 0; count < 300_000; count++) {
      window.forget(window.add(keyOf(2, count), `${count}`, 0));
    }
    expect(window.find(keyOf(1, 1), 0)).toEqual({ duplicateOf: "genuine" });
  });

  it("find() compares every byte", () => {
    const window = new MemoryDedupeWindow();
    window.add(keyOf(1, 1), "a", 0);
    for (let at = 0; at < 24; at++) {
      const other = bytesOf(1, 1);
      other[at] = 9;
      const known = at < 12 ? {} : { sameSignatureAs: "a" };
      expect(window.find(keyText(other), 0)).toEqual(known);
    }
  });
});
