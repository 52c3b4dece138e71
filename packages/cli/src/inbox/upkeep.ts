import { counted, type Erased, eraseReport, inWords, sumOf } from "@reporthook/core/store";
import type { Command } from "commander";
import { confirm } from "../lib/ask.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { file, receiverOption, text } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { actorOn } from "./actions.ts";
import { findRequestId } from "./find.ts";
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
    .action(({ dryRun, yes, ...source }: PruneOptions) =>
      withInbox(terminal, source, null, async (inbox) => {
        const now = new Date((await livedTimeOf(inbox)).retentionNow);
        const foreseen = await terminal.during("Looking", () => inbox.prune(now, { dryRun: true }));
        if (!dryRun && !yes && sumOf(foreseen.deleted) > 0) {
          const many = amountOf(foreseen.deleted);
          const note = "Their retention is over.";
          await confirm(terminal, { act: "delete", done: "deleted", many, note });
        }
        const { deleted, announced, noticeMs } = dryRun
          ? foreseen
          : await terminal.during("Deleting expired deliveries", () => inbox.prune(now));
        const count = sumOf(deleted);
        const kinds = count === 0 ? "" : ` (${kindsOf(deleted)})`;
        const lines = [`${dryRun ? "Would delete" : "Deleted"} ${count}${kinds}.`];
        if (sumOf(announced) > 0) {
          const end = `${dryRun ? "Would announce" : "Announced"} the end of ${amountOf(announced)}`;
          lines.push(`${end}: parked ones are deleted ${inWords(noticeMs)} later at the earliest.`);
        }
        terminal.emit({ ...(dryRun ? { dryRun } : { pruned: count }), deleted, announced }, lines);
      }),
    );
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
    "of one request, without a question": "reporthook inbox erase --request-id 01m7qk2v --yes",
  })
    .option("--report-id <id>", "the report", text)
    .option("--request-id <id>", "the request", text)
    .addOption(receiverOption())
    .option("--yes", "do not ask")
    .action(async (options: EraseOptions) => {
      const { reportId, requestId, receiver, yes } = options;
      if ((reportId === undefined) === (requestId === undefined)) {
        throw new UsageError("Name what to erase, either with --report-id or with --request-id");
      }
      await withInbox(terminal, options, null, async (inbox) => {
        // Also an id whose request is gone: its deliveries may be there.
        const request = requestId && (await findRequestId(inbox, requestId, receiver));
        const query = { reportId, requestId: request, receiver, ...(await actorOn(inbox)) };
        const look = () => eraseReport(inbox, { ...query, dryRun: true });
        let erased = await terminal.during("Looking", look);
        // Nothing that was not shown is erased.
        if ((erased.deliveries ?? 0) + erased.requests > 0) {
          if (!yes) {
            const act = "erase bodies, errors and contexts of";
            const note = "They are gone for good; backups keep theirs.";
            await confirm(terminal, { act, done: "erased", many: manyOf(erased), note });
          }
          erased = await terminal.during("Erasing", () => eraseReport(inbox, query));
        }
        const { deliveries, requests } = erased;
        if (deliveries === null) {
          const before =
            requests === 0 ? "" : `Erased ${manyOf(erased)}, and none of the deliveries: `;
          const why = `${before}BullMQ can't look for a report in every state: release or discard its parked deliveries; the others go with their retention`;
          throw new CommandFailed("not_searchable", why, { requests });
        }
        terminal.emit({ erased: deliveries, requests }, `Erased ${manyOf(erased)}.`);
      });
    });
}

function manyOf({ deliveries, requests }: Erased): string {
  const parts = [
    ...(deliveries === null ? [] : [counted(deliveries, "delivery", "deliveries")]),
    ...(requests === 0 ? [] : [counted(requests, "request", "requests")]),
  ];
  return parts.join(" and ");
}

/** Adds `inbox backup`, which copies a file. */
export function addBackup(group: Command, terminal: Terminal): void {
  addInboxCommand(group, "backup", "Copy the inbox's file, also while the app runs.", {
    "each night": "reporthook inbox backup backup.db --overwrite --db inbox.db",
  })
    .argument("<file>", "the copy", file)
    .option("--overwrite", "overwrite the file if it exists")
    .action((file: string, options: InboxSource & { readonly overwrite?: true }) =>
      withInbox(terminal, options, "Copying", async (inbox, { overwrite }) => {
        if (inbox.backup === undefined) {
          const message = "Only a file can be copied: back up the server of the queues";
          throw new CommandFailed("no_file", message);
        }
        await inbox.backup(file, { overwrite });
        terminal.emit({ file }, `Copied to ${terminal.clean(file)}.`);
      }),
    );
}
