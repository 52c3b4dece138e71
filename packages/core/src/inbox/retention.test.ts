import { describe, expect, it } from "vitest";
import { retentionOf } from "./retention.ts";

describe("retentionOf()", () => {
  const dayMs = 86_400_000;

  it("is 7 and 30 days, unless told", () => {
    expect(retentionOf("anInbox")).toEqual({ handledMs: 7 * dayMs, parkedMs: 30 * dayMs });
    expect(retentionOf("anInbox", { handledMs: 1 })).toEqual({
      handledMs: 1,
      parkedMs: 30 * dayMs,
    });
    expect(retentionOf("anInbox", { parkedMs: Number.POSITIVE_INFINITY }).parkedMs).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  it.each([
    [null, "retention must be an object, not null"],
    [7, "retention must be an object, not 7"],
    ["redis://:secret@host", "retention must be an object, not a string"],
    [{ days: 7 }, "retention.days is no option; these are: handledMs, parkedMs"],
    [{ handledMs: 0 }, "retention.handledMs must be a positive number of milliseconds, not 0"],
    [{ parkedMs: "7" }, 'retention.parkedMs must be a positive number of milliseconds, not "7"'],
    [
      { parkedMs: Number.NaN },
      "retention.parkedMs must be a positive number of milliseconds, not NaN",
    ],
  ])("throws a TypeError for %j", (given, message) => {
    expect(() => retentionOf("anInbox", given as object)).toThrow(
      new TypeError(`anInbox: ${message}`),
    );
  });
});
