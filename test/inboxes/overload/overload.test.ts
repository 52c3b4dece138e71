import { type Inbox, memoryInbox } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { inCheck } from "@reporthook/test-support/needs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { describe, expect, it } from "vitest";
import { overload, shareOf } from "./experiment.ts";

function inboxOf(kind: string): Inbox {
  if (kind === "memory") return memoryInbox();
  return sqliteInbox(temporaryPath());
}

describe("overload", () => {
  it.each([
    ["memory", 0],
    ["memory", 2],
    ["sqlite", 2],
    ...(inCheck
      ? []
      : ([
          ["memory", 0.5],
          ["memory", 1],
          ["memory", 5],
        ] as const)),
  ] as const)(
    "a flood of signed junk leaves a share for genuine notifications: %s, at %d times the service's rate",
    { timeout: 600_000 },
    async (kind, times) => {
      const { handled, sent } = await overload(
        inboxOf(kind),
        times,
        720,
        kind === "memory" ? 0 : 6,
      );
      expect(handled / sent).toBeGreaterThanOrEqual(0.9 * shareOf(times));
    },
  );
});
