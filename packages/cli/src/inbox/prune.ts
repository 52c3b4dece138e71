import type { Pruned } from "@reporthook/core";
import { sumOf } from "@reporthook/core/store";
import { confirm } from "../lib/ask.ts";
import { duration } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { amountOf, kindsOf } from "./many.ts";
import { type InboxSource, livedTimeOf, withInbox } from "./source.ts";

/** Options of `inbox prune`. */
export interface PruneOptions extends InboxSource {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/**
 * Runs `inbox prune`: deletes the deliveries whose retention is over, after `--yes` or a confirmation of their number, and announces
 * the end of parked ones.
 */
export async function runPrune(
  terminal: Terminal,
  { dryRun = false, yes = false, ...source }: PruneOptions,
): Promise<void> {
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
