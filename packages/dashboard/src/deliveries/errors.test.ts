import { keyRefused } from "@reporthook/core/internals";
import { describe, expect, it } from "vitest";
import { commonErrorsOf, errorOf } from "./errors.ts";

const message = "2 attempts failed";
const failed = (id: string, lastError: string | null) => ({
  ...{ id, lastError },
  reason: { code: "attempts_used_up", message } as const,
});

describe("of one delivery", () => {
  it("errorOf() is the first line of the last error", () => {
    const thrown = "Error: ENOSPC\n    at write (a.js:1:2)\n  caused by Error: disk";
    expect(errorOf(failed("a", thrown))).toBe("Error: ENOSPC");
  });

  it("errorOf() says of a refused API key that it was so when the service was last asked", () => {
    const error = `${keyRefused}: ServiceError: POST /authorize answered 401`;
    expect(errorOf(failed("a", error))).toBe(
      "When last asked, the service refused the API key: ServiceError: POST /authorize answered 401",
    );
  });

  it("errorOf() is the reason's message where no attempt failed", () => {
    expect(errorOf(failed("a", null))).toBe(message);
    expect(errorOf({ lastError: null, reason: null })).toBeNull();
  });
});

describe("of many deliveries", () => {
  it("commonErrorsOf() counts errors as one that differ in their ids and numbers, and shows the newest", () => {
    const entries = [
      failed("d", "TypeError: x is not a function"),
      failed("c", "Error: report lost-33 of 01m8x was deleted\n    at a.js"),
      failed("b", "Error: report lost-7 of 3f2c-11 was deleted\n    at b.js"),
      failed("a", "RangeError"),
    ];
    const [first] = commonErrorsOf(entries);
    expect(first).toEqual({
      ...{ id: "c", number: 2, of: 4, isThrown: true },
      text: "Error: report lost-33 of 01m8x was deleted",
    });
  });

  it("commonErrorsOf() has the three most frequent", () => {
    const of = (text: string, number: number) =>
      Array.from({ length: number }, (_, index) => failed(`${text}${index}`, text));
    const entries = [...of("A", 1), ...of("B", 2), ...of("C", 4), ...of("D", 3)];
    expect(commonErrorsOf(entries).map(({ text }) => text)).toEqual(["C", "D", "B"]);
  });

  it("commonErrorsOf() is empty where none has an error", () => {
    expect(commonErrorsOf([])).toEqual([]);
    expect(commonErrorsOf([{ id: "a", lastError: "", reason: null }])).toEqual([]);
  });
});
