import type { Pruned } from "@reporthook/core";
import { counted, type Erased, eraseReport, inWords, sumOf } from "@reporthook/core/store";
import type { Command } from "commander";
import { confirm } from "../lib/ask.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { file, receiverOption } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { actorOn } from "./actions.ts";
import { amountOf, kindsOf } from "./many.ts";
import { addInboxCommand, type InboxSource, livedTimeOf, withInbox } from "./source.ts";

interface PruneOptions extends InboxSource {
  readonly dryRun?: true;
  readonly yes?: true;
}

/** Adds `inbox prune`, which deletes the deliveries whose retention is over, and announces the end of parked ones. */
export function addPrune(group: Command, terminal: Terminal): void {
  const what = "Delete deliveries whose retention is over; a running app does this by itself.";
  addInboxCommand(group, "prune", what, {
    "what it would delete": "reporthook inbox prune --dry-run --db inbox.db",
    "in a script, without a question": "reporthook inbox prune --yes --db inbox.db",
  })
    .option("--dry-run", "say how many it would delete, and delete nothing")
    .option("--yes", "do not ask")
    .action((options: PruneOptions) => prune(terminal, options));
}

async function prune(terminal: Terminal, { dryRun, yes, ...source }: PruneOptions): Promise<void> {
  await withInbox(terminal, source, null, async (inbox) => {
    const now = new Date((await livedTimeOf(inbox)).retentionNow);
    const foreseen = await terminal.during("Looking", () => inbox.prune(now, { dryRun: true }));
    if (!dryRun && !yes && sumOf(foreseen.deleted) > 0) {
      const asked = { act: "delete", done: "deleted", note: "Their retention is over." };
      await confirm(terminal, asked, amountOf(foreseen.deleted));
    }
    const prune = (): Promise<Pruned> => inbox.prune(now);
    const { deleted, announced, noticeMs } = dryRun
      ? foreseen
      : await terminal.during("Deleting expired deliveries", prune);
    const kinds = sumOf(deleted) === 0 ? "" : ` (${kindsOf(deleted)})`;
    const lines = [`${dryRun ? "Would delete" : "Deleted"} ${sumOf(deleted)}${kinds}.`];
    if (sumOf(announced) > 0) {
      const end = `${dryRun ? "Would announce" : "Announced"} the end of ${amountOf(announced)}`;
      lines.push(`${end}: parked ones are deleted ${inWords(noticeMs)} later at the earliest.`);
    }
    const mode = dryRun ? { dryRun } : { pruned: sumOf(deleted) };
    terminal.emit({ ...mode, deleted, announced }, lines);
  });
}

interface EraseOptions extends InboxSource {
  readonly reportId?: string;
  readonly requestId?: string;
  readonly yes?: true;
}

/** Adds `inbox erase`, which removes what an inbox has of one report or request. */
export function addErase(group: Command, terminal: Terminal): void {
  const what = "Remove bodies, errors and contexts of one report, in every state.";
  addInboxCommand(group, "erase", what, {
    "of one report": "reporthook inbox erase --report-id r-4711 --db inbox.db",
    "of one request, without a question": "reporthook inbox erase --request-id 01m7 --yes",
  })
    .option("--report-id <id>", "the report")
    .option("--request-id <id>", "the request")
    .addOption(receiverOption())
    .option("--yes", "do not ask")
    .action((options: EraseOptions) => erase(terminal, options));
}

async function erase(terminal: Terminal, options: EraseOptions): Promise<void> {
  const { reportId, requestId, receiver, yes } = options;
  if ((reportId === undefined) === (requestId === undefined)) {
    throw new UsageError("Name what to erase, either with --report-id or with --request-id");
  }
  await withInbox(terminal, options, null, async (inbox) => {
    const query = { reportId, requestId, receiver, ...(await actorOn(inbox)) };
    const found = await terminal.during("Looking", () =>
      eraseReport(inbox, { ...query, dryRun: true }),
    );
    const isNone = (found.deliveries ?? 0) + found.requests === 0;
    if (isNone && found.deliveries === null) throw notSearchable(found);
    if (!isNone && !yes) {
      const act = "erase bodies, errors and contexts of";
      const note = "They are gone for good; backups keep theirs.";
      await confirm(terminal, { act, done: "erased", note }, manyOf(found));
    }
    // Nothing that was not shown is erased.
    const erased = isNone
      ? found
      : await terminal.during("Erasing", () => eraseReport(inbox, query));
    if (erased.deliveries === null) throw notSearchable(erased);
    const { deliveries, requests } = erased;
    terminal.emit({ erased: deliveries, requests }, `Erased ${manyOf(erased)}.`);
  });
}

function manyOf({ deliveries, requests }: Erased): string {
  const parts = [
    ...(deliveries === null ? [] : [counted(deliveries, "delivery", "deliveries")]),
    ...(requests === 0 ? [] : [counted(requests, "request", "requests")]),
  ];
  return parts.join(" and ");
}

function notSearchable(erased: Erased): CommandFailed {
  const { requests } = erased;
  const before = requests === 0 ? "" : `Erased ${manyOf(erased)}, and none of the deliveries: `;
  const why = `${before}BullMQ can't look for a report in every state: release or discard its parked deliveries; the others go with their retention`;
  return new CommandFailed("not_searchable", why, { requests });
}

interface BackupOptions extends InboxSource {
  readonly overwrite?: true;
}

/** Adds `inbox backup`, which copies a file. */
export function addBackup(group: Command, terminal: Terminal): void {
  addInboxCommand(group, "backup <file>", "Copy the inbox's file, also while the app runs.", {
    "each night": "reporthook inbox backup backup.db --overwrite --db inbox.db",
  })
    .option("--overwrite", "overwrite the file if it exists")
    .action((given: string, options: BackupOptions) => backup(terminal, file(given), options));
}

async function backup(terminal: Terminal, file: string, options: BackupOptions): Promise<void> {
  await withInbox(terminal, options, "Copying", async (inbox, { overwrite }) => {
    if (inbox.backup === undefined) {
      throw new CommandFailed(
        "no_file",
        "Only a file can be copied: back up the server of the queues",
      );
    }
    await inbox.backup(file, { overwrite });
    terminal.emit({ file }, `Copied to ${terminal.clean(file)}.`);
  });
}
