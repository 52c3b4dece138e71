import type { Entry, ReasonCode } from "@reporthook/core";
import { describe, expect, it } from "vitest";
import { program } from "../lib/environment.ts";
import { createTerminal } from "../lib/terminal.ts";
import { nextSteps } from "./next-steps.ts";

function parked(id: string, code: ReasonCode): Entry {
  return {
    ...{ id, state: "dead", type: "report.complete", reportId: null, lastError: null, error: null },
    ...{
      reason: { code, message: "" },
      receivedAt: new Date(0),
      changedAt: new Date(0),
      requestId: null,
    },
    ...{ attempts: 3, nextAttemptAt: null },
  };
}

function stepsFor(...entries: readonly Entry[]): string[] {
  const wide = { ...createTerminal(false, {}), columns: 200 };
  return nextSteps(entries, { db: "inbox.db" }, wide).map((line) =>
    line.replace(`${program()} inbox `, "").replace(" --db inbox.db", ""),
  );
}

describe("advice", () => {
  it("nextSteps() says to release a delivery of the most frequent reason, and then all of them", () => {
    const steps = stepsFor(
      parked("01m7a", "poison"),
      parked("01m7b", "attempts_used_up"),
      parked("01m7c", "attempts_used_up"),
    );
    expect(steps).toEqual([
      "Look:        show 01m7b",
      "Once fixed:  release 01m7b",
      "Then all:    release --reason attempts_used_up",
      "Delete:      discard 01m7b",
    ]);
  });

  it.each([
    ["expired", "If genuine:  "],
    ["poison", "Once fixed:  "],
  ] as const)("nextSteps() says to release %s deliveries singly", (code, lead) => {
    expect(stepsFor(parked("01m7a", code), parked("01m7b", code))).toEqual([
      "Look:        show 01m7a",
      `${lead}release 01m7a`,
      "Delete:      discard 01m7a",
    ]);
  });

  it("nextSteps() says nothing if nothing is parked", () => {
    expect(stepsFor({ ...parked("01m7a", "expired"), state: "verified" })).toEqual([]);
  });
});
