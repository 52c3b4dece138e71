import type { Attempt, Entry, EntryDetails } from "@reporthook/core";
import { expect, it } from "vitest";
import { table } from "../lib/layout.ts";
import { createTerminal, type Terminal } from "../lib/terminal.ts";
import { errorColumns } from "./stats.ts";
import { entryColumns, entryLines } from "./view.ts";

const at = new Date(0);

function entryTable(entries: readonly Entry[], terminal: Terminal): string[] {
  return table(entryColumns, entries, terminal);
}

const triedOnce: EntryDetails = {
  id: "01m7",
  state: "verified",
  reason: null,
  type: "report.complete",
  reportId: "r-1",
  receivedAt: at,
  changedAt: at,
  attempts: 1,
  nextAttemptAt: null,
  lastError: null,
  error: null,
  requestId: null,
  headers: {},
  verification: "valid",
  history: [],
  body: null,
  context: null,
  url: "/",
};

function linesOf(history: readonly Attempt[], body: string | null = null): string[] {
  return entryLines({ ...triedOnce, history, body }, createTerminal(false, {}));
}

function attemptsShown(...history: readonly Attempt[]): string[] {
  const lines = linesOf(history);
  const from = lines.indexOf("Attempts") + 1;
  return lines.slice(from, from + history.length).map((line) => line.slice(26));
}

it("entryLines() tells how long each attempt took, and its outcome", () => {
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

it("entryLines() puts attempts that are alike in a row on one line", () => {
  const error = "The service refuses the API key: 401\n  at a.js";
  const refused = (ms: number): Attempt => ({
    stage: "verify",
    outcome: "retry",
    ms,
    error,
    at: new Date(ms * 1_000),
  });
  const shown = attemptsShown(...[refused(1), refused(2), refused(3)], {
    stage: "verify",
    at,
    ms: 1,
    outcome: "verified",
    error: null,
  });
  expect(shown.slice(0, 2)).toEqual([
    "verify  no verdict after 1.0 ms, retried: The service refuses the API key: 401 (3 alike until 1970-01-01T00:00:03.000Z)",
    "verify  verified in 1.0 ms",
  ]);
});

it("entryLines() shows a stack trace once, a frame a line", () => {
  const lastError = "TypeError: boom\n    at run (a.js:1:2)\n  caused by Error: disk";
  const failed = { stage: "handle", at, outcome: "retry", error: lastError } as const;
  const history = [1, 2].map((ms) => ({ ...failed, ms }));
  const details: EntryDetails = {
    ...triedOnce,
    attempts: 2,
    nextAttemptAt: at,
    lastError,
    history,
  };
  const shown = entryLines(details, createTerminal(false, {})).join("\n");
  expect(shown).toContain(`\nLast error\n${lastError}\n\nAttempts\n`);
  expect(shown.match(/a\.js/g)).toHaveLength(1);
  const steering = { ...details, lastError: "boom\n  \r\u000b\u2028owned" };
  expect(entryLines(steering, createTerminal(false, {}))).toContain("  owned");
});

it("entryTable() tells that no handler ran", () => {
  const [, line] = entryTable(
    [
      {
        ...triedOnce,
        state: "handled",
        type: "report.internal_error",
        reportId: null,
        lastError: "no handler ran",
      },
    ],
    createTerminal(false, {}),
  );
  expect(line).toMatch(/handled +report.internal_error +no handler ran$/);
});

it.each([
  [3_600_000, "asked again in 60 min"],
  [-3_600_000, "due for 60 min"],
])(
  "entryTable() tells that the service refuses the API key, and when it is asked again: after %d ms",
  (ms, when) => {
    const lastError =
      "The service refuses the API key: ServiceError: POST https://reports.example/v1/webhooks/authorize answered 401: the API key is not accepted, check apiKey";
    const [, line] = entryTable(
      [
        {
          ...triedOnce,
          state: "received",
          type: null,
          reportId: null,
          attempts: 0,
          lastError,
          nextAttemptAt: new Date(Date.now() + ms),
        },
      ],
      { ...createTerminal(false, {}), columns: 200 },
    );
    expect(line).toMatch(new RegExp(`received +API key refused, ${when}$`));
  },
);

it("entryLines() shows a body as it is when it is nested too deep to be formatted", () => {
  const body = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  expect(linesOf([], body).at(-1)).toBe(body);
});

it("entryColumns tell the events of reports apart at 80 columns", () => {
  const requestId = "01m8q46sb100009bgxpcsqsmwj";
  const reportId = "7807e79e-7469-4e54-a798-34e350c13e4e";
  const types = ["report.processing", "report.complete", "report.internal_error"] as const;
  const long = { id: requestId, reportId, requestId, lastError: "Error: no space left on device" };
  const entries = types.map((type) => ({ ...triedOnce, ...long, type, attempts: 2 }));
  const lines = entryTable(entries, { ...createTerminal(false, {}), columns: 80 });
  expect(lines.map((line) => line.length).every((length) => length <= 80)).toBe(true);
  for (const [index, end] of ["essing", "mplete", "_error"].entries()) {
    expect(lines[index + 1]).toMatch(new RegExp(`…\\w*${end} `));
  }
});

it("errorColumns leave room for reason and error at 80 columns", () => {
  const oldest = new Date();
  const text = "Error: connect ECONNREFUSED 10.0.0.7:5432";
  const group = { error: "97kmd4pg", text, count: 1_234, oldest, newest: oldest };
  const reasons = { attempts_used_up: 1_234 };
  const terminal = { ...createTerminal(false, {}), columns: 80 };
  const [, line = ""] = table(errorColumns, [{ ...group, reasons }], terminal);
  expect(line.length).toBeLessThanOrEqual(80);
  expect(line).toContain(" attempts_used_up  Error: connect ECONN");
});
