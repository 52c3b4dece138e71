import type { Attempt, EntryDetails } from "@reporthook/core";
import { expect, it } from "vitest";
import { createTerminal } from "../lib/terminal.ts";
import { entryLines, entryTable } from "./view.ts";

const at = new Date(0);

function attemptsShown(...history: readonly Attempt[]): string[] {
  const details: EntryDetails = {
    ...{ id: "01m7", state: "verified", reason: null, type: "report.complete", reportId: "r-1" },
    ...{ receivedAt: at, attempts: 1, nextAttemptAt: null, lastError: null, ackMs: 1 },
    ...{ headers: {}, verification: "valid", history, body: null },
  };
  const lines = entryLines(details, createTerminal(false, {}));
  const from = lines.indexOf("Attempts") + 1;
  return lines.slice(from, from + history.length).map((line) => line.slice(26));
}

it("entryLines() tells how long each attempt took and what came of it", () => {
  const shown = attemptsShown(
    { stage: "verify", at, ms: 2, outcome: "retry", error: "503" },
    { stage: "verify", at, ms: 1, outcome: "verified", error: null },
    { stage: "handle", at, ms: 1, outcome: "retry", error: "Error: boom" },
    { stage: "handle", at, ms: 12, outcome: "dead", error: "Error: boom" },
    { stage: "handle", at, ms: 3, outcome: "handled", error: null },
  );
  expect(shown).toEqual([
    "verify  no verdict after 2.0 ms, retried: 503",
    "verify  verified in 1.0 ms",
    "handle  failed in 1.0 ms, retried: Error: boom",
    "handle  dead in 12 ms: Error: boom",
    "handle  handled in 3.0 ms",
  ]);
});

it("entryTable() tells that no handler ran", () => {
  const [, line] = entryTable(
    [
      {
        ...{ id: "01m7", state: "handled", reason: null, type: "report.internal_error" },
        ...{ reportId: null, receivedAt: at, attempts: 1, nextAttemptAt: null },
        ...{ lastError: "no handler ran", ackMs: 1 },
      },
    ],
    createTerminal(false, {}),
  );
  expect(line).toMatch(/handled +report.internal_error +no handler ran$/);
});

it("entryTable() tells that the service refuses the API key", () => {
  const lastError =
    "The service refuses the API key: ServiceError: POST https://reports.example/v1/webhooks/authorize answered 401: the API key is not accepted, check apiKey";
  const [, line] = entryTable(
    [
      {
        ...{ id: "01m7", state: "received", reason: null, type: null, reportId: null },
        ...{ receivedAt: at, attempts: 0, nextAttemptAt: at, lastError, ackMs: 1 },
      },
    ],
    createTerminal(false, {}),
  );
  expect(line).toMatch(/received +API key refused$/);
});
