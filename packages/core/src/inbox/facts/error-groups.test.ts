import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorGroups, errorKeyOf } from "./error-groups.ts";

describe("keys", () => {
  it("errorKeyOf() is the same for errors that differ in numbers, ids and stack frames", () => {
    const key = errorKeyOf("Error: report lost-33 of 01m8x was deleted\n    at a (a.js:1:2)");
    expect(key).toMatch(/^[0-9a-z]{8}$/);
    expect(errorKeyOf("Error: report lost-7 of 3f2c-11 was deleted\n    at b.js:3:4")).toBe(key);
    expect(errorKeyOf("Error: report lost-7 of 3f2c-11 was deleted")).toBe(key);
    expect(errorKeyOf("Error: report lost-7 of 3f2c-11 was moved")).not.toBe(key);
  });

  it("errorKeyOf() tells errors apart by their causes", () => {
    const because = (cause: string): string =>
      errorKeyOf(
        `Error: not booked\n    at a.js:1:2\n  caused by Error: ${cause}\n    at b.js:1:2`,
      );
    expect(because("ECONNREFUSED 10.0.0.7:5432")).toBe(because("ECONNREFUSED 10.0.0.8:5432"));
    expect(because("ECONNREFUSED 10.0.0.7:5432")).not.toBe(because("duplicate key"));
  });

  it("errorKeyOf() has a key without the text for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(errorKeyOf(text)).toMatch(/^[0-9a-z]{8}$/);
      }),
    );
  });

  it("errorKeyOf() differs for thousands of different errors", () => {
    const words = Array.from({ length: 20_000 }, (_, index) =>
      index.toString(26).replaceAll(/\d/g, (digit) => "qrstuvwxyz"[Number(digit)] ?? ""),
    );
    expect(new Set(words.map((word) => errorKeyOf(`Error: ${word}`))).size).toBe(words.length);
  });
});

describe("groups", () => {
  const one = { reason: "do_not_retry", count: 1, oldest: 5, newest: 5, text: "a" } as const;

  it("ErrorGroups has the largest first, each with its newest text, its span and its reasons", () => {
    const groups = new ErrorGroups();
    groups.add({ ...one, error: "x" });
    groups.add({ ...one, error: "y", count: 2, oldest: 3, newest: 9, text: "b\nc" });
    groups.add({ ...one, error: "y", reason: "poison", oldest: 4, newest: 4 });
    const reasons = { do_not_retry: 2, poison: 1 };
    const span = { oldest: new Date(3), newest: new Date(9) };
    expect(groups.list()).toEqual([
      { error: "y", text: "b", count: 3, ...span, reasons },
      expect.objectContaining({ error: "x", count: 1 }),
    ]);
  });

  it("ErrorGroups keeps 1,000 of many, the largest, and the one that is being counted", () => {
    const groups = new ErrorGroups();
    for (let count = 1; count <= 3_000; count++) {
      groups.add({ ...one, error: String(count), count: count === 1 ? 9_000 : count });
      groups.bound(String(count));
    }
    const kept = groups.list().map(({ error }) => error);
    expect([kept.length, kept[0], kept[1], kept.at(-1)]).toEqual([1_000, "1", "3000", "2002"]);
  });
});
