import type { Pruned } from "@reporthook/core";
import { sumOf } from "@reporthook/core/store";
import type { Command } from "commander";
import { confirm } from "../lib/ask.ts";
import { duration } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { amountOf, kindsOf } from "./many.ts";
import { addInboxCommand, type InboxSource, livedTimeOf, withInbox } from "./source.ts";

interface PruneOptions extends InboxSource {
  readonly dryRun?: true;
  readonly yes?: true;
}

/** Adds `inbox prune`, which deletes the deliveries whose retention is over, and announces the end of parked ones. */
export function addPrune(group: Command, terminal: Terminal): void {
  const what = "Delete deliveries whose retention is over; a running app does this by itself.";
  addInboxCommand(group, "prune", what, [
    ["what it would delete", "reporthook inbox prune --dry-run --db inbox.db"],
    ["in a script, without a question", "reporthook inbox prune --yes --db inbox.db"],
  ])
    .option("--dry-run", "say how many it would delete, and delete nothing")
    .option("--yes", "do not ask")
    .action((options: PruneOptions) => prune(terminal, options));
}

async function prune(terminal: Terminal, { dryRun, yes, ...source }: PruneOptions): Promise<void> {
  await withInbox(terminal, source, null, async (inbox) => {
    const now = new Date((await livedTimeOf(inbox)).retentionNow);
    const foreseen = await terminal.during("Looking", () => inbox.prune(now, { dryRun: true }));
    if (dryRun) {
      report(terminal, foreseen, ["Would delete", "Would announce"], { dryRun });
      return;
    }
    if (!yes && sumOf(foreseen.deleted) > 0) {
      const many = amountOf(foreseen.deleted);
      const question = `Delete ${many}? Their retention is over.`;
      await confirm(terminal, question, { many, done: "deleted" });
    }
    const pruned = await terminal.during("Deleting expired deliveries", () => inbox.prune(now));
    report(terminal, pruned, ["Deleted", "Announced"], { pruned: sumOf(pruned.deleted) });
  });
}

function report(
  terminal: Terminal,
  { deleted, announced, noticeMs }: Pruned,
  [delete_, announce]: readonly [string, string],
  rest: object,
): void {
  terminal.emit({ ...rest, deleted, announced });
  const kinds = sumOf(deleted) === 0 ? "" : ` (${kindsOf(deleted)})`;
  terminal.print(`${delete_} ${sumOf(deleted)}${kinds}.`);
  if (sumOf(announced) === 0) return;
  terminal.print(
    `${announce} the end of ${amountOf(announced)}: parked ones are deleted ${duration(noticeMs)} later at the earliest.`,
  );
}
