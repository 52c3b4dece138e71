import type { ErrorGroup, State } from "@reporthook/core";
import type { Command } from "commander";
import { type Column, table } from "../lib/layout.ts";
import { limitOption, receiverOption } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { commandLines } from "./command-lines.ts";
import { stateOption } from "./filters.ts";
import { kindsOf } from "./many.ts";
import { addInboxCommand, type InboxSource, ofReceiver, withInbox } from "./source.ts";

interface ErrorsOptions extends InboxSource {
  readonly state?: State | "parked";
  readonly limit: number;
}

const columns: readonly Column<ErrorGroup>[] = [
  { title: "KEY", of: ({ error }) => error },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "OLDEST", of: ({ oldest }) => oldest.toISOString() },
  { title: "NEWEST", of: ({ newest }) => newest.toISOString() },
  { title: "REASONS", of: ({ reasons }) => kindsOf(reasons), shrinks: true },
  { title: "ERROR", of: ({ text }) => text, shrinks: true },
];

/** Adds `inbox errors`, which prints a line for each group of equal errors, and the commands for the largest. */
export function addErrors(group: Command, terminal: Terminal): void {
  const what = "Group parked deliveries by their error, the most frequent first.";
  addInboxCommand(group, "errors", what, [
    ["the three most frequent", "reporthook inbox errors --limit 3 --db inbox.db"],
    ["run all of one, once it is fixed", "reporthook inbox release --error 0a1b2c3d"],
  ])
    .addOption(stateOption("only this state (default: parked)"))
    .addOption(limitOption(1_000))
    .addOption(receiverOption(ofReceiver))
    .action((given: ErrorsOptions) =>
      withInbox(terminal, given, "Grouping errors", async (inbox, options) => {
        const { limit, state, receiver } = options;
        const errors = (await inbox.errors({ receiver, state })).slice(0, limit);
        terminal.emit({ errors });
        terminal.print(table(columns, errors, terminal));
        const [largest] = errors;
        if (largest === undefined) return;
        const steps = [
          ["Look", `list --error ${largest.error}`],
          ["Once fixed", `release --error ${largest.error}`],
        ] as const;
        terminal.tell(commandLines(steps, options, terminal));
      }),
    );
}
