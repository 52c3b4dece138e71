import type { ErrorGroup } from "@reporthook/core";
import { type Column, hang, table } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { LimitedOptions } from "./acts.ts";
import { commandLines } from "./command-lines.ts";
import type { FilterOptions } from "./filters.ts";
import { kindsOf } from "./many.ts";
import { withInbox } from "./source.ts";

/** Options of `inbox errors`. */
export interface ErrorsOptions extends LimitedOptions, Pick<FilterOptions, "state"> {}

const columns: readonly Column<ErrorGroup>[] = [
  { title: "KEY", of: ({ error }) => error },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "OLDEST", of: ({ oldest }) => oldest.toISOString() },
  { title: "NEWEST", of: ({ newest }) => newest.toISOString() },
  { title: "REASONS", of: ({ reasons }) => kindsOf(reasons), shrinks: true },
  { title: "ERROR", of: ({ text }) => text, shrinks: true },
];

/** Runs `inbox errors`: prints a line for each group of equal errors, the largest first, and the commands for the first. */
export async function runErrors(
  terminal: Terminal,
  { limit, state, receiver, ...from }: ErrorsOptions,
): Promise<void> {
  await withInbox(
    terminal,
    { ...from, ...(receiver && { receiver }) },
    "Grouping errors",
    async (inbox, source) => {
      const errors = (await inbox.errors({ receiver, state })).slice(0, limit);
      terminal.emit({ errors });
      const [first] = errors;
      if (first === undefined) {
        terminal.print("Nothing.");
        return;
      }
      for (const line of table(columns, errors, terminal)) terminal.print(line);
      const steps = [
        ["Look", `list --error ${first.error}`],
        ["Once fixed", `release --error ${first.error}`],
      ] as const;
      for (const line of commandLines(steps, source, terminal)) terminal.tell(line);
    },
  );
}

const maxGroups = 5;

/** Formats the largest groups of errors, a line each. */
export function errorLines(groups: readonly ErrorGroup[], terminal: Terminal): string[] {
  return groups.slice(0, maxGroups).flatMap(({ count, text, error }, index) => {
    const lead = (index === 0 ? "Errors:" : "").padEnd(13);
    return hang(lead, `${count} × ${text} (--error ${error})`, terminal);
  });
}
