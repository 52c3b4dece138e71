import type { State } from "@reporthook/core";
import type { Command, Option } from "commander";
import { type ActingOptions, runAct } from "../inbox/actions.ts";
import { type LimitedOptions, runActs } from "../inbox/acts.ts";
import { type BackupOptions, type EraseOptions, runBackup, runErase } from "../inbox/erase.ts";
import { type ErrorsOptions, runErrors } from "../inbox/errors.ts";
import { reasonOption, withFilters } from "../inbox/filters.ts";
import { type ListOptions, runExport, runList, runShow } from "../inbox/list.ts";
import { type PruneOptions, runPrune } from "../inbox/prune.ts";
import { type InboxSource, withInboxSource } from "../inbox/source.ts";
import { runStats } from "../inbox/stats.ts";
import {
  type Example,
  file,
  integer,
  jsonOption,
  receiverOption,
  usualReceiver,
  withExamples,
} from "../lib/options.ts";
import { choiceOption } from "../lib/suggest.ts";
import type { Terminal } from "../lib/terminal.ts";

const parkedStates = ["held", "dead", "parked"] as const;
const listed: readonly (State | "parked")[] = [
  ...(["received", "verified", "handled", "rejected"] as const),
  ...parkedStates,
];

const parked: Example = ["deliveries that need a decision", "reporthook inbox list --state parked"];
const shown: Example = ["the reason, and the body", "reporthook inbox show 01m7qk2v"];
const releasedAll: Example = [
  "run all that failed",
  "reporthook inbox release --reason attempts_used_up",
];
const scripted: Example = [
  "in a script, without a question",
  "reporthook inbox release --reason schema_mismatch --yes --db inbox.db",
];

const stateOption = (what: string, states = listed): Option =>
  choiceOption("--state <state>", what, states);

const ofReceiver = "only deliveries of this receiver";
const theirs = "the receiver of the deliveries";

/** Adds a command of `inbox`. */
type Add = (usage: string, what: string, examples: readonly Example[]) => Command;

/** Adds `inbox …`, which also works while the app runs. */
export function addInbox(program: Command, terminal: Terminal): void {
  const inbox = program
    .command("inbox")
    .summary("inspect an inbox, release parked deliveries")
    .description("Inspect an inbox and decide on parked deliveries, also while the app runs.")
    .helpCommand(false)
    .addOption(jsonOption());
  const add: Add = (usage, what, examples) => {
    const command = withInboxSource(inbox.command(usage).description(what));
    return withExamples(command.addOption(jsonOption()), examples);
  };
  addList(add, terminal);
  addShow(add, terminal);
  addRelease(add, terminal);
  addRetry(add, terminal);
  addDiscard(add, terminal);
  addExport(add, terminal);
  addStats(add, terminal);
  addErrors(add, terminal);
  addActs(add, terminal);
  addPrune(add, terminal);
  addErase(add, terminal);
  addBackup(add, terminal);
  withExamples(inbox, [
    parked,
    shown,
    ["run it again", "reporthook inbox release 01m7qk2v"],
    releasedAll,
    ["of another file", "reporthook inbox list --state parked --db /srv/app/inbox.db"],
  ]);
}

function addList(add: Add, terminal: Terminal): void {
  const command = add("list", "List deliveries, oldest first.", [
    parked,
    ["the latest, and why they are stuck", "reporthook inbox list --since 2h --newest-first"],
    ["the next page of all", "reporthook inbox list --limit 500 --after 01m7qk2v --db inbox.db"],
  ]);
  const chosen = command
    .addOption(stateOption("only this state; parked is held or dead"))
    .addOption(reasonOption("only deliveries", "invalid_signature"));
  withFilters(chosen, "only deliveries")
    .addOption(receiverOption(ofReceiver))
    .option("--newest-first", "the newest first")
    .option("--limit <count>", "maximum number", integer(1, 10_000), 100)
    .option("--after <id>", "only deliveries after this one")
    .action((options: ListOptions) => runList(terminal, options));
}

function addShow(add: Add, terminal: Terminal): void {
  add("show <id>", "Show a delivery in full: body, headers, attempts.", [shown]).action(
    (id: string, options: InboxSource) => runShow(terminal, id, options),
  );
}

function addRelease(add: Add, terminal: Terminal): void {
  const what = "Run held, dead or handled deliveries again; attempts start from zero.";
  const two: Example = ["two of them", "reporthook inbox release 01m7qk2v 01m8 --db inbox.db"];
  const command = add("release [ids...]", what, [two, releasedAll, scripted])
    .addOption(reasonOption("all deliveries"))
    .addOption(stateOption("all in this state (default: parked)", [...parkedStates, "handled"]));
  forMany(command, "every parked delivery that somebody vouches for")
    .addOption(receiverOption(theirs, usualReceiver))
    .action((ids: string[], options: ActingOptions) => runAct(terminal, "release", ids, options));
}

function addRetry(add: Add, terminal: Terminal): void {
  const command = add(
    "retry [ids...]",
    "Retry waiting deliveries immediately, or ask again about rejected ones.",
    [
      ["the service is back", "reporthook inbox retry --all"],
      ["one of them", "reporthook inbox retry 01m7qk2v --db inbox.db"],
      ["the key was wrong, and is right", "reporthook inbox retry --state rejected"],
    ],
  )
    .addOption(
      choiceOption("--reason <code>", "all rejected for this reason", [
        "invalid_signature",
        "expired",
      ]),
    )
    .addOption(stateOption("all in this state", ["received", "verified", "rejected"]));
  forMany(command, "every waiting delivery")
    .addOption(receiverOption(theirs, usualReceiver))
    .action((ids: string[], options: ActingOptions) => runAct(terminal, "retry", ids, options));
}

function addDiscard(add: Add, terminal: Terminal): void {
  const command = add("discard [ids...]", "Delete held or dead deliveries.", [
    ["a useless one", "reporthook inbox discard 01m7qk2v"],
    ["all of a kind", "reporthook inbox discard --reason unsigned"],
  ])
    .addOption(reasonOption("all deliveries"))
    .addOption(stateOption("all in this state (default: parked)", parkedStates));
  forMany(command, "every parked delivery")
    .addOption(receiverOption(`${theirs} (default: ${usualReceiver}; of an id: any)`))
    .action((ids: string[], options: ActingOptions) => runAct(terminal, "discard", ids, options));
}

function addExport(add: Add, terminal: Terminal): void {
  const to = "http://127.0.0.1:3000/hook";
  add("export <id>", "Print a delivery as a fixture for trigger --from, without secrets.", [
    ["for a test of your app", "reporthook inbox export 01m7qk2v > fixture.json"],
    ["send it to your app", `reporthook trigger --from fixture.json --to ${to}`],
  ])
    .addOption(choiceOption("--as <format>", "the format", ["fixture"]).default("fixture"))
    .addOption(receiverOption(theirs, usualReceiver))
    .action((id: string, options: InboxSource) => runExport(terminal, id, options));
}

function addStats(add: Add, terminal: Terminal): void {
  add("stats", "Count deliveries by state, and parked ones by reason.", [
    ["for a script", "reporthook inbox stats --json --db inbox.db"],
  ])
    .addOption(receiverOption(ofReceiver))
    .action((options: InboxSource) => runStats(terminal, options));
}

function addErrors(add: Add, terminal: Terminal): void {
  add("errors", "Group parked deliveries by their error, the most frequent first.", [
    ["the three most frequent", "reporthook inbox errors --limit 3 --db inbox.db"],
    ["run all of one, once it is fixed", "reporthook inbox release --error 0a1b2c3d"],
  ])
    .addOption(stateOption("only this state (default: parked)"))
    .option("--limit <count>", "maximum number", integer(1, 1_000), 100)
    .addOption(receiverOption(ofReceiver))
    .action((options: ErrorsOptions) => runErrors(terminal, options));
}

function addActs(add: Add, terminal: Terminal): void {
  add("acts", "Show who released, retried or discarded deliveries, newest first.", [
    ["the last ten", "reporthook inbox acts --limit 10 --db inbox.db"],
  ])
    .option("--limit <count>", "maximum number", integer(1, 1_000), 100)
    .addOption(receiverOption(ofReceiver))
    .action((options: LimitedOptions) => runActs(terminal, options));
}

function addPrune(add: Add, terminal: Terminal): void {
  add("prune", "Delete deliveries whose retention is over; a running app does this by itself.", [
    ["what it would delete", "reporthook inbox prune --dry-run --db inbox.db"],
    ["in a script, without a question", "reporthook inbox prune --yes --db inbox.db"],
  ])
    .option("--dry-run", "say how many it would delete, and delete nothing")
    .option("--yes", "do not ask")
    .action((options: PruneOptions) => runPrune(terminal, options));
}

function addErase(add: Add, terminal: Terminal): void {
  add("erase", "Remove bodies, errors and contexts of one report, in every state.", [
    ["of one report", "reporthook inbox erase --report-id r-4711 --db inbox.db"],
    ["of one request, without a question", "reporthook inbox erase --request-id 01m7 --yes"],
  ])
    .option("--report-id <id>", "the report")
    .option("--request-id <id>", "the request")
    .addOption(receiverOption(ofReceiver))
    .option("--yes", "do not ask")
    .action((options: EraseOptions) => runErase(terminal, options));
}

function addBackup(add: Add, terminal: Terminal): void {
  add("backup <file>", "Copy the inbox's file, also while the app runs.", [
    ["each night", "reporthook inbox backup backup.db --overwrite --db inbox.db"],
  ])
    .option("--overwrite", "overwrite the file if it exists")
    .action((given: string, options: BackupOptions) => runBackup(terminal, file(given), options));
}

/** Adds the options that choose many deliveries to act on. */
function forMany(command: Command, all: string): Command {
  return withFilters(command, "all deliveries").option("--all", all).option("--yes", "do not ask");
}
