import { realpathSync } from "node:fs";
import type { Entry, Inbox, InboxQuery } from "@reporthook/core";
import { isParked } from "@reporthook/core/store";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { CommandFailed } from "../lib/errors.ts";
import { fixtureText } from "../lib/fixture.ts";
import { usualReceiver } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { errorLines } from "./errors.ts";
import { type FilterOptions, queryOf } from "./filters.ts";
import { findEntry, findId } from "./find.ts";
import { nextSteps, tellRefusedKey } from "./next-steps.ts";
import { fileSize, type InboxSource, tellOfOthers, warnOfOthers, withInbox } from "./source.ts";
import { entryLines, entryTable, statsLines } from "./view.ts";

/** The number of parked deliveries that `inbox stats` reads for their most frequent reason. */
const searched = 1_000;

/** Options of `inbox list`. */
export interface ListOptions extends InboxSource, FilterOptions {
  readonly limit: number;
  readonly after?: string;
  readonly newestFirst?: true;
}

/** Runs `inbox list`: prints a line for each delivery, and commands for the parked ones. */
export async function runList(terminal: Terminal, options: ListOptions): Promise<void> {
  await withInbox(terminal, options, "Reading the inbox", async (inbox, source) => {
    const { limit, receiver, newestFirst } = options;
    const after = options.after && (await findId(inbox, options.after, source));
    const query = { ...queryOf(options), receiver, newestFirst, after };
    const found = await inbox.list({ ...query, limit: limit + 1 });
    const entries = found.slice(0, limit);
    const next = found.length > limit ? (entries.at(-1)?.id ?? null) : null;
    terminal.emit({ entries, next });
    await tellRefusedKey(terminal, inbox, source);
    if (entries.length === 0) {
      terminal.print("Nothing.");
      return warnOfOthers(terminal, inbox, source, receiver);
    }
    for (const line of entryTable(entries, terminal)) terminal.print(line);
    if (next !== null) terminal.tell(`More: --after ${next}`);
    await tellParked(terminal, inbox, { entries, query: { ...query, limit } }, source);
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

/** Runs `inbox stats`: counts deliveries by state and reason, with the errors of the parked ones and commands for them. */
export async function runStats(terminal: Terminal, options: InboxSource): Promise<void> {
  const { receiver } = options;
  await withInbox(terminal, options, "Counting", async (inbox, source) => {
    const { db } = source;
    const now = new Date();
    const counts = await inbox.counts(receiver);
    // In all, not by minute.
    const { parked: reasons, oldest } = await inbox.summary({ receiver, from: now, until: now });
    const times = [oldest.received, oldest.verified].flatMap((date) => date?.getTime() ?? []);
    const oldestWaitingMs = times.length === 0 ? null : now.getTime() - Math.min(...times);
    const bytes = db === undefined ? null : fileSize(db) + fileSize(`${realpathSync(db)}-wal`);
    const keyRefused = await tellRefusedKey(terminal, inbox, source);
    const result = { counts, reasons, oldestWaitingMs, keyRefused, bytes };
    terminal.emit(result);
    for (const line of statsLines(result, terminal)) terminal.print(line);
    const query = { receiver, state: "parked", newestFirst: true, limit: searched } as const;
    const entries = terminal.json ? [] : await inbox.list(query);
    const groups = terminal.json || entries.length === 0 ? [] : await inbox.errors({ receiver });
    for (const line of errorLines(groups, terminal)) terminal.tell(line);
    await tellParked(terminal, inbox, { entries, query }, source);
    await warnOfOthers(terminal, inbox, source, receiver);
  });
}

/** Tells the commands for parked entries; those without --receiver act on the usual one's only. */
async function tellParked(
  terminal: Terminal,
  inbox: Inbox,
  { entries, query }: { readonly entries: readonly Entry[]; readonly query: InboxQuery },
  source: InboxSource,
): Promise<void> {
  const parked = entries.filter(({ state }) => isParked(state));
  if (terminal.json || parked.length === 0) return;
  let own = parked;
  if (query.receiver === undefined) {
    const usual = await inbox.list({ ...query, receiver: usualReceiver });
    const ids = new Set(usual.map(({ id }) => id));
    own = parked.filter(({ id }) => ids.has(id));
  }
  for (const line of nextSteps(own, source, terminal)) terminal.tell(line);
  tellOfOthers(terminal, parked.length - own.length);
}
