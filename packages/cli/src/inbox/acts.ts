import type { LoggedAct } from "@reporthook/core";
import { type Column, table } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type InboxSource, withInbox } from "./source.ts";

/** Options of `inbox acts` and `inbox errors`. */
export interface LimitedOptions extends InboxSource {
  readonly limit: number;
}

const columns: readonly Column<LoggedAct>[] = [
  { title: "TIME", of: ({ at }) => at.toISOString() },
  { title: "BY", of: ({ by }) => by ?? "a person", shrinks: true },
  { title: "ACT", of: ({ act }) => act },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "SELECTION", of: selectionText, shrinks: true },
];

/** Runs `inbox acts`: prints a line for each act, newest first. */
export async function runActs(terminal: Terminal, options: LimitedOptions): Promise<void> {
  const { limit, receiver } = options;
  await withInbox(terminal, options, "Reading the inbox", async (inbox) => {
    const acts = await inbox.acts({ limit, receiver });
    terminal.emit({ acts });
    if (acts.length === 0) terminal.print("Nothing.");
    else for (const line of table(columns, acts, terminal)) terminal.print(line);
  });
}

/** The selection as the options of the command line have it. */
function selectionText({ selection: { id, unchangedSince: _, ...filters } }: LoggedAct): string {
  const given = Object.entries(filters).map(([name, value]) => {
    const text = value instanceof Date ? value.toISOString() : String(value);
    return `${name} ${text}`;
  });
  return id ?? (given.length === 0 ? "all" : given.join(", "));
}
