import type { Counts } from "@reporthook/core";
import { alarmOf } from "@reporthook/dashboard/internals";
import { describe, expect, test } from "vitest";

const none = { received: 0, verified: 0, handled: 0, held: 0, rejected: 0, dead: 0 };

/** The title of the alarm when so many are kept, of which some came in the last hour, a minute each. */
function titleOf(all: Partial<Counts>, ...lately: readonly Partial<Counts>[]): string | undefined {
  const minutes = lately.map((some) => ({
    at: new Date().toISOString(),
    counts: { ...none, ...some },
  }));
  return alarmOf({ service: "ok", counts: { ...none, ...all }, minutes })?.title;
}

const rejected = "Most notifications are rejected";

describe("alarms", () => {
  test("alarmOf() tells when most that came in the last hour are rejected", () => {
    const all = { handled: 900, rejected: 5 };
    expect(titleOf(all, { rejected: 3 }, { rejected: 2, handled: 4 })).toBe(rejected);
    expect(titleOf(all, { rejected: 3 }, { rejected: 2, handled: 5 })).toBeUndefined();
    expect(titleOf(all, { handled: 5 })).toBeUndefined();
    expect(titleOf(all)).toBeUndefined();
  });

  test("alarmOf() tells when most are rejected and none is handled, whenever they came", () => {
    expect(titleOf({ rejected: 3 })).toBe(rejected);
    expect(titleOf({ rejected: 2 })).toBeUndefined();
    expect(titleOf({ rejected: 4, dead: 3 })).toBe(rejected);
    expect(titleOf({ rejected: 3, dead: 3 })).toBeUndefined();
    expect(titleOf({})).toBeUndefined();
  });
});
