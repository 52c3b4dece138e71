import { dashboard, ofInbox } from "@reporthook/dashboard";
import { CommandFailed } from "../lib/errors.ts";
import { fixtureText } from "../lib/fixture.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type FilterOptions, queryOf } from "./filters.ts";
import { findEntry, findId } from "./find.ts";
import { type InboxSource, warnOfOthers, withInbox } from "./source.ts";
import { entryLines, entryTable } from "./view.ts";

/** Options of `inbox list`. */
export interface ListOptions extends InboxSource, FilterOptions {
  readonly limit: number;
  readonly after?: string;
  readonly newestFirst?: true;
}

/** Runs `inbox list`: prints a line for each delivery, and why some are parked. */
export async function runList(terminal: Terminal, options: ListOptions): Promise<void> {
  await withInbox(terminal, options, "Reading the inbox", async (inbox, source) => {
    const { limit, receiver, newestFirst } = options;
    const after = options.after && (await findId(inbox, options.after, source));
    const query = { ...queryOf(options), receiver, newestFirst, after };
    const found = await inbox.list({ ...query, limit: limit + 1 });
    const entries = found.slice(0, limit);
    const next = found.length > limit ? (entries.at(-1)?.id ?? null) : null;
    terminal.emit({ entries, next });
    if (entries.length === 0) {
      terminal.print("Nothing.");
      return warnOfOthers(terminal, inbox, source, receiver);
    }
    for (const line of entryTable(entries, terminal)) terminal.print(line);
    if (next !== null) terminal.tell(`More: --after ${next}`);
  });
}

/** Runs `inbox show`: prints a delivery in full. */
export async function runShow(terminal: Terminal, given: string, from: InboxSource): Promise<void> {
  await withInbox(terminal, from, "Reading the inbox", async (inbox, source) => {
    const details = await findEntry(inbox, given, source);
    terminal.emit(details);
    for (const line of entryLines(details, terminal)) terminal.print(line);
  });
}

/** Runs `inbox export`: prints a delivery as a fixture, without secrets. */
export async function runExport(
  terminal: Terminal,
  given: string,
  options: InboxSource,
): Promise<void> {
  await withInbox(terminal, options, "Reading the inbox", async (inbox, source) => {
    const { receiver } = source;
    const details = await findEntry(inbox, given, source, receiver);
    // The dashboard knows which parts look secret.
    const page = dashboard(ofInbox(inbox, { receiver }), { logger: false });
    const address = `http://127.0.0.1/api/deliveries/${details.id}/body`;
    const answer = await page(new Request(address), { peer: "127.0.0.1" });
    if (details.body === null || !answer.ok) {
      throw new CommandFailed(
        "no_body",
        `The body of ${details.id} is no longer kept: export a newer delivery`,
      );
    }
    const contentType = details.headers["content-type"];
    const text = fixtureText({ type: details.type, contentType, body: await answer.text() });
    terminal.emit(JSON.parse(text));
    terminal.print(terminal.clean(text));
  });
}
