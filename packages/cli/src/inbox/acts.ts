import type { LoggedAct } from "@reporthook/core";
import type { Command } from "commander";
import { type Column, table } from "../lib/layout.ts";
import { limitOption, receiverOption } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { addInboxCommand, type InboxSource, ofReceiver, withInbox } from "./source.ts";

const columns: readonly Column<LoggedAct>[] = [
  { title: "TIME", of: ({ at }) => at.toISOString() },
  { title: "BY", of: ({ by }) => by ?? "a person", shrinks: true },
  { title: "ACT", of: ({ act }) => act },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "SELECTION", of: selectionText, shrinks: true },
];

/** Adds `inbox acts`, which prints a line for each act, newest first. */
export function addActs(group: Command, terminal: Terminal): void {
  const what = "Show who released, retried or discarded deliveries, newest first.";
  addInboxCommand(group, "acts", what, [
    ["the last ten", "reporthook inbox acts --limit 10 --db inbox.db"],
  ])
    .addOption(limitOption(1_000))
    .addOption(receiverOption(ofReceiver))
    .action((options: InboxSource & { readonly limit: number }) =>
      withInbox(terminal, options, "Reading the inbox", async (inbox, { limit, receiver }) => {
        const acts = await inbox.acts({ limit, receiver });
        terminal.emit({ acts });
        terminal.print(table(columns, acts, terminal));
      }),
    );
}

/** The selection as the options of the command line have it. */
function selectionText({ selection: { id, unchangedSince: _, ...filters } }: LoggedAct): string {
  const given = Object.entries(filters).map(([name, value]) => {
    const text = value instanceof Date ? value.toISOString() : String(value);
    return `${name} ${text}`;
  });
  return id ?? (given.length === 0 ? "all" : given.join(", "));
}
