import type { Command } from "commander";
import { CommandFailed } from "../lib/errors.ts";
import { file } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { addInboxCommand, type InboxSource, withInbox } from "./source.ts";

interface BackupOptions extends InboxSource {
  readonly overwrite?: true;
}

/** Adds `inbox backup`, which copies a file. */
export function addBackup(group: Command, terminal: Terminal): void {
  addInboxCommand(group, "backup <file>", "Copy the inbox's file, also while the app runs.", [
    ["each night", "reporthook inbox backup backup.db --overwrite --db inbox.db"],
  ])
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
    terminal.print(`Copied to ${terminal.clean(file)}.`);
    terminal.emit({ file });
  });
}
