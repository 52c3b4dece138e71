import { type Erased, eraseReport } from "@reporthook/core/store";
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

/** Runs `inbox erase`: removes what an inbox has of one report or request, after `--yes` or a confirmation of the number. */
export async function runErase(
  terminal: Terminal,
  { reportId, requestId, yes = false, ...from }: EraseOptions,
): Promise<void> {
  if ((reportId === undefined) === (requestId === undefined)) {
    throw new UsageError("Name what to erase, either with --report-id or with --request-id");
  }
  await withInbox(terminal, from, null, async (inbox) => {
    const { clock } = await livedTimeOf(inbox);
    const { wallOffset } = clock;
    const what = { reportId, requestId, receiver: from.receiver };
    const query = { ...what, now: clock.now(), wallOffset, by: nameOfUser() };
    const erase = (dryRun: boolean) => eraseReport(inbox, { ...query, dryRun });
    const found = await terminal.during("Looking", () => erase(true));
    if (found.deliveries === null && found.requests === 0) throw notSearchable(found);
    const many = manyOf(found);
    const question = `Erase bodies, errors and contexts of ${many}? They are gone for good; backups keep theirs.`;
    const isNone = (found.deliveries ?? 0) + found.requests === 0;
    if (!yes && !isNone) await confirm(terminal, question, { many, done: "erased" });
    const erased = isNone ? found : await terminal.during("Erasing", () => erase(false));
    if (erased.deliveries === null) throw notSearchable(erased);
    terminal.print(`Erased ${manyOf(erased)}.`);
    terminal.emit({ erased: erased.deliveries, requests: erased.requests });
  });
}

function manyOf({ deliveries, requests }: Erased): string {
  const counted = (count: number, one: string, more: string): string =>
    `${count} ${count === 1 ? one : more}`;
  const parts = [
    deliveries === null ? [] : counted(deliveries, "delivery", "deliveries"),
    requests === 0 ? [] : counted(requests, "request", "requests"),
  ];
  return parts.flat().join(" and ");
}

function notSearchable(erased: Erased): CommandFailed {
  const { requests } = erased;
  const before = requests === 0 ? "" : `Erased ${manyOf(erased)}, and none of the deliveries: `;
  const why = `${before}BullMQ can't look for a report in every state: release or discard its parked deliveries; the others go with their retention`;
  return new CommandFailed("not_searchable", why, { requests });
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
