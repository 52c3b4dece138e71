import type { Entry, Inbox, InboxQuery } from "@reporthook/core";
import { ask, canAsk } from "../lib/ask.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";

/** An action on deliveries, in the words of messages. */
export interface Verb {
  readonly verb: "release" | "retry" | "discard";
  readonly doing: string;
  readonly done: "released" | "retried" | "discarded";
  /** A warning for the question. */
  readonly note?: string;
}

const pageSize = 1_000;
const atOnce = 100;
const maxToldFailed = 10;

/** Lists all entries that queries find, page by page. */
export async function allOf(inbox: Inbox, ...queries: readonly InboxQuery[]): Promise<Entry[]> {
  const found: Entry[] = [];
  for (const query of queries) {
    for (let after: string | undefined; ; ) {
      const page = await inbox.list({ ...query, limit: pageSize, after });
      found.push(...page);
      after = page.at(-1)?.id;
      if (page.length < pageSize) break;
    }
  }
  return found;
}

/**
 * Applies an action to many deliveries, after `--yes` or a confirmation of their number.
 *
 * @throws UsageError when it would discard without a terminal to ask on; Failure `not_confirmed` after a no, `not_…` if one failed
 */
export async function onMany(
  terminal: Terminal,
  { verb, doing, done, note }: Verb,
  { entries, yes }: { readonly entries: readonly Entry[]; readonly yes: boolean },
  act: (id: string) => Promise<unknown>,
): Promise<void> {
  const count = entries.length;
  const asks = canAsk(terminal);
  // A script that releases loses nothing.
  if (count > 0 && !yes && (asks || verb === "discard")) {
    const many = `${count} ${count === 1 ? "delivery" : "deliveries"}${kindsOf(entries)}`;
    if (!asks) {
      throw new UsageError(`${many} would be ${done}: add --yes, or confirm on a terminal`);
    }
    const question = `${verb[0]?.toUpperCase()}${verb.slice(1)} ${many}?`;
    if (!(await ask(terminal.clean(note === undefined ? question : `${question} ${note}`)))) {
      throw new CommandFailed("not_confirmed", `Nothing is ${done}`);
    }
  }
  const failed: { id: string; message: string }[] = [];
  await terminal.during(`${doing} ${count}`, async (say) => {
    for (let from = 0; from < count; from += atOnce) {
      const some = entries.slice(from, from + atOnce);
      const settled = await Promise.allSettled(some.map(({ id }) => act(id)));
      for (const [index, one] of settled.entries()) {
        const id = some[index]?.id ?? "";
        if (one.status === "rejected") failed.push({ id, message: (one.reason as Error).message });
      }
      say(`${doing}: ${from + some.length} of ${count}`);
    }
  });
  const succeeded = count - failed.length;
  terminal.print(`${done[0]?.toUpperCase()}${done.slice(1)} ${succeeded}.`);
  if (failed.length === 0) return terminal.emit({ [done]: succeeded });
  const told = failed.slice(0, maxToldFailed).map(({ message }) => message);
  const message = `${failed.length} failed: ${told.join("; ")}${told.length < failed.length ? "; …" : ""}`;
  throw new CommandFailed(`not_${done}`, message, { [done]: succeeded, failed });
}

/** The number of each reason, else of each event, in brackets. */
function kindsOf(entries: readonly Entry[]): string {
  const counts = new Map<string, number>();
  for (const { reason, type, state } of entries) {
    const kind = reason?.code ?? type ?? state;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const [first] = [...counts.keys()];
  if (counts.size === 1) return ` (${first})`;
  return ` (${[...counts].map(([kind, count]) => `${count} ${kind}`).join(", ")})`;
}
