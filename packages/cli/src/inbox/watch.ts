import { setTimeout as sleep } from "node:timers/promises";
import type { Entry, EntryDetails, Inbox, InboxQuery } from "@reporthook/core";
import { isChosen, isParked } from "@reporthook/core/store";
import { hang } from "../lib/layout.ts";
import { untilEnd } from "../lib/listen.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type FilterOptions, queryOf } from "./filters.ts";
import { type InboxSource, nameOf, warnOfOthers, withInbox } from "./source.ts";
import { paintState, whyOf } from "./view.ts";

/** Options of `inbox watch`. */
export interface WatchOptions extends InboxSource, FilterOptions {}

/** A change of an entry since it was read last. */
export interface EntryChange {
  readonly what: "new" | "changed" | "deleted";
  readonly entry: Entry;
}

const everyMs = 1_000;
// The newest, and the newest that are parked.
const most = 500;

/** Runs `inbox watch`: prints a line for each new, changed or deleted entry, until Ctrl-C. */
export async function runWatch(terminal: Terminal, options: WatchOptions): Promise<void> {
  const { state, receiver } = options;
  await withInbox(terminal, options, null, async (inbox, source) => {
    const refresh = watcher(inbox, { ...queryOf(options), state: undefined, receiver });
    await refresh();
    const ending = new AbortController();
    // Before anybody knows that there is something to end.
    const ended = untilEnd().then(() => ending.abort());
    terminal.emit({ what: "ready" });
    const title = `Watching ${terminal.clean(nameOf(source))}; Ctrl-C ends it.`;
    terminal.print(terminal.paint("bold", title));
    await warnOfOthers(terminal, inbox, source, receiver);
    while (!ending.signal.aborted) {
      for (const change of await refresh()) {
        if (!isChosen(change.entry.state, state)) continue;
        terminal.emit({ at: new Date(), ...change });
        for (const line of changeLines(change, terminal)) terminal.print(line);
      }
      await sleep(everyMs, undefined, { signal: ending.signal }).catch(() => {});
    }
    await ended;
  });
}

/** Watches an inbox: each call resolves to the changes since the call before. */
function watcher(inbox: Inbox, query: InboxQuery): () => Promise<EntryChange[]> {
  let known = new Map<string, Entry>();
  return async () => {
    const newest = { ...query, newestFirst: true, limit: most };
    const lists = await Promise.all([
      inbox.list(newest),
      inbox.list({ ...newest, state: "parked" }),
    ]);
    const found = new Map(lists.flat().map((entry) => [entry.id, entry]));
    const deleted: EntryChange[] = [];
    // Older ones that may still change.
    const left = [...known.values()].filter(
      ({ id, state }) =>
        !found.has(id) && (state === "received" || state === "verified" || isParked(state)),
    );
    for (const before of left.slice(-most)) {
      const details = await inbox.get(before.id);
      if (details === null) deleted.push({ what: "deleted", entry: before });
      else found.set(before.id, withoutDetails(details));
    }
    const inOrder = [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
    const changes = inOrder.flatMap((entry): EntryChange[] => {
      const before = known.get(entry.id);
      if (before === undefined) return [{ what: "new", entry }];
      return signOf(before) === signOf(entry) ? [] : [{ what: "changed", entry }];
    });
    known = new Map(inOrder.map((entry) => [entry.id, entry]));
    return [...deleted, ...changes];
  };
}

/** The parts of an entry that may change. */
function signOf({ state, type, reason, attempts, nextAttemptAt, lastError }: Entry): string {
  return JSON.stringify([state, type, reason, attempts, nextAttemptAt, lastError]);
}

function withoutDetails(details: EntryDetails): Entry {
  const { body, headers, history, verification, ...entry } = details;
  return entry;
}

function changeLines({ what, entry }: EntryChange, terminal: Terminal): string[] {
  const time = new Date().toTimeString().slice(0, 8);
  const label =
    what === "deleted" ? terminal.paint("dim", what) : paintState(entry.state, terminal);
  const gap = " ".repeat(8 - (what === "deleted" ? what : entry.state).length);
  const why = what === "deleted" ? "" : whyOf(entry, Date.now());
  const text = [entry.id, entry.type ?? "", why].filter((part) => part !== "").join("  ");
  return hang(`${time}  ${label}${gap}  `, text, terminal, 20);
}
