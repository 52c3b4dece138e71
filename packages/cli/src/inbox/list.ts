import type { LoggedAct } from "@reporthook/core";
import { parkedReasons } from "@reporthook/core/store";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import type { Command } from "commander";
import { CommandFailed } from "../lib/errors.ts";
import { objectIn } from "../lib/exchange.ts";
import { type Column, table } from "../lib/layout.ts";
import { choiceOption, limitOption, receiverOption, text } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import {
  type FilterOptions,
  findEntry,
  findId,
  queryOf,
  stateOption,
  withFilters,
} from "./find.ts";
import {
  addInboxCommand,
  emitPage,
  type InboxSource,
  namesIn,
  warnOfOthers,
  withInbox,
} from "./source.ts";
import { entryColumns, entryLines } from "./view.ts";

interface ListOptions extends InboxSource, FilterOptions {
  readonly limit: number;
  readonly after?: string;
  readonly newestFirst?: true;
}

/** Adds `inbox list`, which prints a line for each delivery, and why some are parked. */
export function addList(group: Command, terminal: Terminal): void {
  const reasons = [...parkedReasons, "invalid_signature"] as const;
  const command = addInboxCommand(group, "list", "List deliveries, oldest first.", {
    "deliveries that need a decision": "reporthook inbox list --state parked",
    "the latest, and why they are stuck": "reporthook inbox list --since 2h --newest-first",
    "the next page of all": "reporthook inbox list --limit 500 --after 01m7qk2v --db inbox.db",
  })
    .addOption(stateOption("only this state; parked is held or dead"))
    .addOption(choiceOption("--reason <code>", "only deliveries parked for this reason", reasons));
  withFilters(command, "only deliveries")
    .addOption(receiverOption())
    .option("--newest-first", "the newest first")
    .addOption(limitOption(10_000))
    .option("--after <id>", "only deliveries after this one", text)
    .action((given: ListOptions) =>
      withInbox(terminal, given, "Reading the inbox", async (inbox, options) => {
        const { limit, receiver, newestFirst } = options;
        const after = options.after && (await findId(inbox, options.after));
        const query = { ...queryOf(options), receiver, newestFirst, after, limit: limit + 1 };
        const found = await inbox.list(query);
        emitPage(terminal, "entries", found, limit, entryColumns);
        if (found.length === 0) await warnOfOthers(terminal, inbox, options);
      }),
    );
}

/** Adds `inbox show`, which prints a delivery in full. */
export function addShow(group: Command, terminal: Terminal): void {
  const what = "Show a delivery in full: body, headers, attempts.";
  addInboxCommand(group, "show <id>", what, {
    "the reason, and the body": "reporthook inbox show 01m7qk2v",
  }).action((id: string, given: InboxSource) =>
    withInbox(terminal, given, "Reading the inbox", async (inbox) => {
      const details = await findEntry(inbox, id);
      terminal.emit(details, entryLines(details, terminal));
    }),
  );
}

/** Adds `inbox export`, which prints a delivery as a fixture, without secrets. */
export function addExport(group: Command, terminal: Terminal): void {
  const what = "Print a delivery as a fixture for trigger --from, without secrets.";
  addInboxCommand(group, "export <id>", what, {
    "for a test of your app": "reporthook inbox export 01m7qk2v > fixture.json",
  })
    .addOption(receiverOption())
    .action((id: string, given: InboxSource) =>
      withInbox(terminal, given, "Reading the inbox", async (inbox, { receiver }) => {
        const details = await findEntry(inbox, id, receiver);
        const address = `http://127.0.0.1/api/deliveries/${details.id}`;
        // A dashboard has the deliveries of one receiver, and knows what looks secret.
        for (const name of await namesIn(inbox, receiver)) {
          const page = dashboard(ofInbox(inbox, { receiver: name }), { logger: false });
          const ask = (of: string) => page(new Request(of), { peer: "127.0.0.1" });
          const answer = await ask(`${address}/body`);
          if (!answer.ok) continue;
          const body = await answer.text();
          const { delivery } = (await (await ask(address)).json()) as {
            delivery: { context: string | null };
          };
          const fixture = {
            type: details.type,
            headers: { "content-type": details.headers["content-type"] ?? "application/json" },
            ...(delivery.context !== null && { context: JSON.parse(delivery.context) }),
            // It can be edited in a file.
            body: objectIn(body) ?? body,
          };
          return terminal.emit(fixture, terminal.clean(JSON.stringify(fixture, null, 2)));
        }
        const message = `The body of ${details.id} is no longer kept: export a newer delivery`;
        throw new CommandFailed("no_body", message);
      }),
    );
}

const actColumns: readonly Column<LoggedAct>[] = [
  { title: "TIME", of: ({ at }) => at.toISOString() },
  { title: "BY", of: ({ by }) => by ?? "a person", shrinks: "beginning" },
  { title: "ACT", of: ({ act }) => act },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "SELECTION", of: selectionText, shrinks: "beginning" },
];

/** Adds `inbox acts`, which prints a line for each act, newest first. */
export function addActs(group: Command, terminal: Terminal): void {
  const what = "Show who released, retried or discarded deliveries, newest first.";
  addInboxCommand(group, "acts", what, {
    "the last ten": "reporthook inbox acts --limit 10 --db inbox.db",
  })
    .addOption(limitOption(1_000))
    .addOption(receiverOption())
    .action((options: InboxSource & { readonly limit: number }) =>
      withInbox(terminal, options, "Reading the inbox", async (inbox, { limit, receiver }) => {
        const acts = await inbox.acts({ limit, receiver });
        terminal.emit({ acts }, table(actColumns, acts, terminal));
      }),
    );
}

/** The selection as the options of the command line have it. */
function selectionText({ selection: { id, unchangedSince: _, ...filters } }: LoggedAct): string {
  const given = Object.entries(filters).map(
    ([name, value]) => `${name} ${value instanceof Date ? value.toISOString() : value}`,
  );
  return id ?? (given.length === 0 ? "all" : given.join(", "));
}
