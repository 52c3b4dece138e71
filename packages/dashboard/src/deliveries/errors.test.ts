import { describe, expect, it } from "vitest";
import { commonErrorOf, errorOf } from "./errors.ts";

const message = "2 attempts failed";
const failed = (id: string, lastError: string | null) => ({
  ...{ id, lastError },
  reason: { code: "attempts_used_up", message } as const,
});

describe("errorOf()", () => {
  it("is the first line of the last error", () => {
    const thrown = "Error: ENOSPC\n    at write (a.js:1:2)\n  caused by Error: disk";
    expect(errorOf(failed("a", thrown))).toBe("Error: ENOSPC");
  });

  it("is the reason's message where no attempt failed", () => {
    expect(errorOf(failed("a", null))).toBe(message);
    expect(errorOf({ lastError: null, reason: null })).toBeNull();
  });
});

describe("commonErrorOf()", () => {
  it("counts errors as one that differ in their ids and numbers, and shows the newest", () => {
    const entries = [
      failed("d", "TypeError: x is not a function"),
      failed("c", "Error: report lost-33 of 01m8x was deleted\n    at a.js"),
      failed("b", "Error: report lost-7 of 3f2c-11 was deleted\n    at b.js"),
      failed("a", "RangeError"),
    ];
    expect(commonErrorOf(entries)).toEqual({
      ...{ id: "c", number: 2, of: 4, isThrown: true },
      text: "Error: report lost-33 of 01m8x was deleted",
    });
  });

  it("is null where none has an error", () => {
    expect(commonErrorOf([])).toBeNull();
    expect(commonErrorOf([{ id: "a", lastError: "", reason: null }])).toBeNull();
  });
});
