import type { RequestState } from "@reporthook/core";
import type { Command } from "commander";
import {
  type ReportsOptions,
  runReport,
  runReports,
  runSettle,
  type SettleOptions,
} from "../inbox/reports.ts";
import { type InboxSource, withInboxSource } from "../inbox/source.ts";
import {
  type Example,
  integer,
  jsonOption,
  receiverOption,
  usualReceiver,
  withExamples,
} from "../lib/options.ts";
import { choiceOption } from "../lib/suggest.ts";
import type { Terminal } from "../lib/terminal.ts";

const states: readonly (RequestState | "overdue")[] = [
  ...(["unconfirmed", "open", "complete", "internal_error", "overdue"] as const),
];
const overdue: Example = ["those that never came", "reporthook reports list --state overdue"];
const shown: Example = ["one in full", "reporthook reports show 01m7qk2v --db inbox.db"];
const settled: Example = [
  "it was found by other means",
  'reporthook reports settle 01m7qk2v complete --body \'{"file":"r.csv"}\'',
];

/** Adds `reports …`, which also works while the app runs. */
export function addReports(program: Command, terminal: Terminal): void {
  const reports = program
    .command("reports")
    .summary("follow the reports that were asked for")
    .description("Follow the reports that an app asked for with receiver.reports.")
    .helpCommand(false)
    .addOption(jsonOption());
  const add = (usage: string, what: string, examples: readonly Example[]): Command => {
    const command = withInboxSource(reports.command(usage).description(what))
      .addOption(receiverOption("the receiver that asked for them", usualReceiver))
      .addOption(jsonOption());
    return withExamples(command, examples);
  };
  add("list", "List requests, oldest first.", [overdue])
    .addOption(choiceOption("--state <state>", "only this state", states))
    .option("--limit <count>", "maximum number", integer(1, 10_000), 100)
    .option("--after <id>", "only requests after this one")
    .action((options: ReportsOptions) => runReports(terminal, options));
  add("show <id>", "Show a request in full, with its deliveries.", [shown]).action(
    (id: string, options: InboxSource) => runReport(terminal, id, options),
  );
  add("settle <id> <status>", "Tell a final status that no notification brought.", [settled])
    .option("--body <json>", "the body of the event: a JSON object, or @ and a file")
    .action((id: string, status: string, options: SettleOptions) =>
      runSettle(terminal, id, status, options),
    );
  withExamples(reports, [overdue, shown, settled]);
}
