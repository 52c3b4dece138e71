import { type Erased, eraseReport } from "@reporthook/core/store";
import type { Command } from "commander";
import { confirm } from "../lib/ask.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { counted } from "../lib/layout.ts";
import { receiverOption } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { nameOfUser } from "./actions.ts";
import { addInboxCommand, type InboxSource, livedTimeOf, ofReceiver, withInbox } from "./source.ts";

interface EraseOptions extends InboxSource {
  readonly reportId?: string;
  readonly requestId?: string;
  readonly yes?: true;
}

/** Adds `inbox erase`, which removes what an inbox has of one report or request. */
export function addErase(group: Command, terminal: Terminal): void {
  const what = "Remove bodies, errors and contexts of one report, in every state.";
  addInboxCommand(group, "erase", what, [
    ["of one report", "reporthook inbox erase --report-id r-4711 --db inbox.db"],
    ["of one request, without a question", "reporthook inbox erase --request-id 01m7 --yes"],
  ])
    .option("--report-id <id>", "the report")
    .option("--request-id <id>", "the request")
    .addOption(receiverOption(ofReceiver))
    .option("--yes", "do not ask")
    .action((options: EraseOptions) => erase(terminal, options));
}

async function erase(terminal: Terminal, options: EraseOptions): Promise<void> {
  const { reportId, requestId, receiver, yes } = options;
  if ((reportId === undefined) === (requestId === undefined)) {
    throw new UsageError("Name what to erase, either with --report-id or with --request-id");
  }
  await withInbox(terminal, options, null, async (inbox) => {
    const { clock } = await livedTimeOf(inbox);
    const { wallOffset } = clock;
    const what = { reportId, requestId, receiver };
    const query = { ...what, now: clock.now(), wallOffset, by: nameOfUser() };
    const found = await terminal.during("Looking", () =>
      eraseReport(inbox, { ...query, dryRun: true }),
    );
    const isNone = (found.deliveries ?? 0) + found.requests === 0;
    if (isNone && found.deliveries === null) throw notSearchable(found);
    if (!isNone && !yes) {
      const many = manyOf(found);
      const question = `Erase bodies, errors and contexts of ${many}? They are gone for good; backups keep theirs.`;
      await confirm(terminal, question, { many, done: "erased" });
    }
    const erased = isNone
      ? found
      : await terminal.during("Erasing", () => eraseReport(inbox, query));
    if (erased.deliveries === null) throw notSearchable(erased);
    terminal.print(`Erased ${manyOf(erased)}.`);
    terminal.emit({ erased: erased.deliveries, requests: erased.requests });
  });
}

function manyOf({ deliveries, requests }: Erased): string {
  const parts = [
    ...(deliveries === null ? [] : [counted(deliveries, "delivery", "deliveries")]),
    ...(requests === 0 ? [] : [counted(requests, "request")]),
  ];
  return parts.join(" and ");
}

function notSearchable(erased: Erased): CommandFailed {
  const { requests } = erased;
  const before = requests === 0 ? "" : `Erased ${manyOf(erased)}, and none of the deliveries: `;
  const why = `${before}BullMQ can't look for a report in every state: release or discard its parked deliveries; the others go with their retention`;
  return new CommandFailed("not_searchable", why, { requests });
}
