import { realpathSync } from "node:fs";
import type { Inbox, State } from "@reporthook/core";
import { isKeyRefused, parkedReasons } from "@reporthook/core/store";
import { type Command, Option } from "commander";
import { discard, type OfReceiver, type ReleaseOptions, release, retry } from "../inbox/actions.ts";
import {
  type InboxSource,
  noSuch,
  sizeOf,
  warnOfOthers,
  withInbox,
  withInboxSource,
} from "../inbox/source.ts";
import { entryLines, entryTable, statsLines } from "../inbox/view.ts";
import { hang } from "../lib/layout.ts";
import { type Example, integer, jsonOption, receiverName, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

const listed = ["received", "verified", "handled", "held", "rejected", "dead", "parked"] as const;
const dayMs = 86_400_000;

const parked: Example = [
  "deliveries that need a decision",
  "reporthook inbox list --state parked --db inbox.db",
];
const shown: Example = ["the reason, and the body", "reporthook inbox show 01m7… --db inbox.db"];
const releasedAll: Example = [
  "run all that failed",
  "reporthook inbox release --reason attempts_used_up --db inbox.db",
];

interface SourceOptions extends InboxSource {
  readonly receiver?: string;
}

/** Adds `inbox …`, which also works while the app runs. */
export function addInbox(program: Command, terminal: Terminal): void {
  const inbox = program
    .command("inbox")
    .summary("inspect an inbox, release parked deliveries")
    .description("Inspect an inbox and decide on parked deliveries, also while the app runs.")
    .helpCommand(false)
    .addOption(jsonOption());
  const add = (usage: string, what: string, examples: readonly Example[]): Command => {
    const command = withInboxSource(inbox.command(usage).description(what));
    return withExamples(command.addOption(jsonOption()), examples);
  };
  const ofReceiver = "only deliveries of this receiver";
  const theirs = "the receiver of the deliveries";

  add("list", "List deliveries, oldest first.", [
    parked,
    ["the next page of all", "reporthook inbox list --limit 500 --after 01m7… --db inbox.db"],
  ])
    .addOption(
      new Option("--state <state>", "only this state; parked is held or dead").choices(listed),
    )
    .option("--receiver <name>", ofReceiver, receiverName)
    .option("--limit <count>", "maximum number", integer(1, 10_000), 100)
    .option("--after <id>", "only deliveries after this one")
    .action((options: ListOptions) => list(terminal, options));
  add("show <id>", "Show a delivery in full: body, headers, attempts.", [shown]).action(
    (id: string, options: SourceOptions) => show(terminal, id, options),
  );
  add("release [ids...]", "Run held, dead or handled deliveries again; attempts start from zero.", [
    ["two of them", "reporthook inbox release 01m7… 01m8… --db inbox.db"],
    releasedAll,
  ])
    .addOption(
      new Option("--reason <code>", "all deliveries parked for this reason").choices(parkedReasons),
    )
    .option("--receiver <name>", theirs, receiverName, "reports")
    .action((ids: string[], options: ReleaseOptions) => release(terminal, ids, options));
  add("retry <ids...>", "Retry waiting deliveries immediately.", [
    ["the service is back", "reporthook inbox retry 01m7… --db inbox.db"],
  ])
    .option("--receiver <name>", theirs, receiverName, "reports")
    .action((ids: string[], options: OfReceiver) => retry(terminal, ids, options));
  add("discard <ids...>", "Delete held or dead deliveries.", [
    ["a useless one", "reporthook inbox discard 01m7… --db inbox.db"],
  ]).action((ids: string[], options: SourceOptions) => discard(terminal, ids, options));
  add("stats", "Count deliveries by state, and parked ones by reason.", [
    ["for a script", "reporthook inbox stats --json --db inbox.db"],
  ])
    .option("--receiver <name>", ofReceiver, receiverName)
    .action((options: SourceOptions) => stats(terminal, options));
  add("prune", "Delete expired deliveries; a running app does this by itself.", [
    [
      "also deliveries handled over a day ago",
      "reporthook inbox prune --handled-days 1 --db inbox.db",
    ],
  ])
    .option("--handled-days <days>", "how long to keep handled ones", integer(1, 36_500), 7)
    .option("--parked-days <days>", "how long to keep held and dead ones", integer(1, 36_500), 30)
    .action((options: PruneOptions) => prune(terminal, options));
  withExamples(inbox, [
    parked,
    shown,
    ["run it again", "reporthook inbox release 01m7… --db inbox.db"],
    releasedAll,
  ]);
}

interface ListOptions extends SourceOptions {
  readonly state?: State | "parked";
  readonly limit: number;
  readonly after?: string;
}

async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  await withInbox(terminal, options, "Reading the inbox", async (inbox) => {
    const { db, inbox: url, prefix, ...query } = options;
    const { limit } = query;
    const found = await inbox.list({ ...query, limit: limit + 1 });
    const entries = found.slice(0, limit);
    const next = found.length > limit ? (entries.at(-1)?.id ?? null) : null;
    terminal.emit({ entries, next });
    if (entries.length === 0) {
      terminal.print("Nothing.");
      return warnIfNamed(terminal, inbox, options);
    }
    if (entries.some(isKeyRefused)) {
      const text =
        "The service refuses the API key: nothing is verified until the app has the right key.";
      for (const line of hang("", text, terminal)) terminal.print(terminal.paint("red", line));
    }
    for (const line of entryTable(entries, terminal)) terminal.print(line);
    if (next !== null) terminal.tell(`More: --after ${next}`);
  });
}

async function show(terminal: Terminal, id: string, source: SourceOptions): Promise<void> {
  await withInbox(terminal, source, "Reading the inbox", async (inbox) => {
    const details = await inbox.get(id);
    if (details === null) throw noSuch(id, source);
    terminal.emit(details);
    for (const line of entryLines(details, terminal)) terminal.print(line);
  });
}

async function stats(terminal: Terminal, options: SourceOptions): Promise<void> {
  const { db, receiver } = options;
  await withInbox(terminal, options, "Counting", async (inbox) => {
    const now = new Date();
    const counts = await inbox.counts(receiver);
    // In all, not by minute.
    const { parked: reasons, oldest } = await inbox.summary({ receiver, from: now, until: now });
    const times = [oldest.received, oldest.verified].flatMap((date) => date?.getTime() ?? []);
    const oldestWaitingMs = times.length === 0 ? null : now.getTime() - Math.min(...times);
    const bytes = db === undefined ? null : sizeOf(db) + sizeOf(`${realpathSync(db)}-wal`);
    const result = { counts, reasons, oldestWaitingMs, bytes };
    terminal.emit(result);
    for (const line of statsLines(result, terminal)) terminal.print(line);
    await warnIfNamed(terminal, inbox, options);
  });
}

interface PruneOptions extends SourceOptions {
  readonly handledDays: number;
  readonly parkedDays: number;
}

async function prune(
  terminal: Terminal,
  { handledDays, parkedDays, ...source }: PruneOptions,
): Promise<void> {
  const retention = { handledMs: handledDays * dayMs, parkedMs: parkedDays * dayMs };
  const work = async (inbox: Inbox): Promise<void> => {
    const pruned = await inbox.prune(new Date());
    terminal.emit({ pruned });
    terminal.print(`Deleted ${pruned}.`);
  };
  await withInbox(terminal, source, "Deleting expired deliveries", work, retention);
}

async function warnIfNamed(
  terminal: Terminal,
  inbox: Inbox,
  options: SourceOptions,
): Promise<void> {
  const { receiver, ...source } = options;
  if (receiver !== undefined) await warnOfOthers(terminal, inbox, source, receiver);
}
