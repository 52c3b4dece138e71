import type { Pruned } from "@reporthook/core";
import { sumOf } from "@reporthook/core/store";
import { ask, canAsk } from "../lib/ask.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { duration } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { kindsOf, numberOf } from "./many.ts";
import { type InboxSource, livedTimeOf, withOpenInbox } from "./source.ts";

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
  await withOpenInbox(terminal, source, async (inbox) => {
    const now = new Date((await livedTimeOf(inbox)).retentionNow);
    const look = () => inbox.prune(now, { dryRun: true });
    const foreseen = await terminal.during("Looking", look);
    if (dryRun) {
      report(terminal, foreseen, ["Would delete", "Would announce"], { dryRun });
      return;
    }
    if (!yes && sumOf(foreseen.deleted) > 0) await confirm(terminal, foreseen);
    const prune = () => inbox.prune(now);
    const pruned = await terminal.during("Deleting expired deliveries", prune);
    report(terminal, pruned, ["Deleted", "Announced"], { pruned: sumOf(pruned.deleted) });
  });
}

async function confirm(terminal: Terminal, { deleted }: Pruned): Promise<void> {
  const many = `${numberOf(sumOf(deleted))} (${kindsOf(deleted)})`;
  if (!canAsk(terminal)) {
    throw new UsageError(`${many} would be deleted: add --yes, or confirm on a terminal`);
  }
  if (await ask(`Delete ${many}? Their retention is over.`)) return;
  throw new CommandFailed("not_confirmed", "Nothing is deleted");
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
  const many = `${numberOf(sumOf(announced))} (${kindsOf(announced)})`;
  terminal.print(
    `${announce} the end of ${many}: parked ones are deleted ${duration(noticeMs)} later at the earliest.`,
  );
}
