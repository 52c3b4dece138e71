import { confirm } from "../lib/ask.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { nameOfUser } from "./actions.ts";
import { type InboxSource, livedTimeOf, withInbox } from "./source.ts";

/** Options of `inbox erase`. */
export interface EraseOptions extends InboxSource {
  readonly reportId?: string;
  readonly requestId?: string;
  readonly yes?: boolean;
}

/** Runs `inbox erase`: removes what deliveries of one report or request tell, after `--yes` or a confirmation of their number. */
export async function runErase(
  terminal: Terminal,
  { reportId, requestId, yes = false, ...from }: EraseOptions,
): Promise<void> {
  if ((reportId === undefined) === (requestId === undefined)) {
    throw new UsageError("Name what to erase, either with --report-id or with --request-id");
  }
  await withInbox(terminal, from, null, async (inbox) => {
    if (inbox.erase === undefined) {
      throw new CommandFailed(
        "not_searchable",
        "BullMQ can't look for a report in every state: release or discard its parked deliveries; the others go with their retention",
      );
    }
    const { clock } = await livedTimeOf(inbox);
    const { wallOffset } = clock;
    const what = { reportId, requestId, receiver: from.receiver };
    const query = { ...what, now: clock.now(), wallOffset, by: nameOfUser() };
    const erase = (dryRun: boolean) => inbox.erase?.({ ...query, dryRun }) ?? Promise.resolve(0);
    const found = yes ? 1 : await terminal.during("Looking", () => erase(true));
    const many = `${found} ${found === 1 ? "delivery" : "deliveries"}`;
    const question = `Erase bodies, errors and contexts of ${many}? They are gone for good; backups keep theirs.`;
    if (!yes && found > 0) await confirm(terminal, question, { many, done: "erased" });
    const erased = found === 0 ? 0 : await terminal.during("Erasing", () => erase(false));
    terminal.print(`Erased ${erased}.`);
    terminal.emit({ erased });
  });
}

/** Options of `inbox backup`. */
export interface BackupOptions extends InboxSource {
  readonly overwrite?: boolean;
}

/** Runs `inbox backup`: copies a file, also while the app runs. */
export async function runBackup(
  terminal: Terminal,
  file: string,
  { overwrite = false, ...from }: BackupOptions,
): Promise<void> {
  await withInbox(terminal, from, "Copying", async (inbox) => {
    if (inbox.backup === undefined) {
      throw new CommandFailed(
        "no_file",
        "Only a file can be copied: back up the server of the queues",
      );
    }
    await inbox.backup(file, { overwrite });
    terminal.print(`Copied to ${terminal.clean(file)}.`);
    terminal.emit({ file });
  });
}
