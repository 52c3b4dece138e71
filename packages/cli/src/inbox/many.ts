import type { ActQuery, Inbox, ReasonCounts } from "@reporthook/core";
import {
  ActCount,
  actOn,
  counted,
  isParked,
  statesOf,
  sumOf,
  unvouchedReasons,
} from "@reporthook/core/store";
import { confirm } from "../lib/ask.ts";
import { CommandFailed } from "../lib/errors.ts";
import { capital } from "../lib/layout.ts";
import { endOfCommand } from "../lib/listen.ts";
import type { Terminal } from "../lib/terminal.ts";

/** An act on deliveries in the words of messages, with a warning after the question. */
export interface Verb {
  readonly doing: string;
  readonly done: string;
  readonly note?: string;
}

/**
 * Acts on all deliveries of a query, after `--yes` or a confirmation of their number: then on those alone that are as they were
 * shown. Resolves to how many were found.
 *
 * @throws UsageError without `--yes` and a terminal to ask on; CommandFailed `not_confirmed` after a no, `interrupted` after
 * Ctrl-C
 */
export async function actOnMany(
  terminal: Terminal,
  inbox: Inbox,
  { doing, done, note = "" }: Verb,
  { query, yes }: { readonly query: ActQuery; readonly yes: boolean },
): Promise<number> {
  const leftOut = await terminal.during("Looking", () => leftOutOf(inbox, query));
  const hasLeft = Object.keys(leftOut).length > 0;
  if (hasLeft) {
    terminal.tell(
      `Left out: ${counted(sumOf(leftOut), "delivery", "deliveries")} that nobody vouches for (${kindsOf(leftOut)}). Check each, then name its id, or name the reason with --reason.`,
    );
  }
  const shown = yes ? null : await terminal.during("Looking", () => lookFor(inbox, query));
  if (shown !== null && shown.total > 0) {
    await confirm(terminal, { act: query.act, done, many: amountOf(shown.counts), note });
  }
  const unchangedSince = shown === null ? undefined : (shown.changedAt ?? new Date(0));
  const count = new ActCount();
  const of = shown === null ? "" : ` of ${shown.total}`;
  const ending = endOfCommand();
  try {
    await terminal.during(`${doing}${of}`, async (say) => {
      for await (const step of inbox.act({ ...query, unchangedSince })) {
        count.addStep(step);
        say(`${doing}: ${count.total}${of}`);
        ending.signal.throwIfAborted();
      }
    });
  } catch (error) {
    const { code = "unexpected", message } = error as { code?: string; message: string };
    const what = `${message}: ${count.total} ${done}, the rest is as it was`;
    throw new CommandFailed(code, what, { [done]: count.total });
  } finally {
    ending.abort();
  }
  const { total } = count;
  const found = shown?.total ?? total;
  const changed = found - total;
  const have = changed === 1 ? "has" : "have";
  const left = changed > 0 ? `; ${changed} ${have} changed meanwhile: left alone` : "";
  const result = { [done]: total, ...(changed > 0 && { changed }), ...(hasLeft && { leftOut }) };
  terminal.emit(result, `${capital(done)} ${total}${left}.`);
  return found;
}

/** Counts what an act would find. An entry that changes meanwhile is no longer as it was shown. */
export async function lookFor(inbox: Inbox, query: ActQuery): Promise<ActCount> {
  const shown = await actOn(inbox, { ...query, dryRun: true });
  if (Number(shown.changedAt) > query.now) shown.changedAt = new Date(query.now);
  return shown;
}

/** The deliveries that a release without a reason leaves out, by reason: a discard would find them. */
async function leftOutOf(inbox: Inbox, query: ActQuery): Promise<ReasonCounts> {
  const { act, reason } = query;
  if (act !== "release" || reason !== undefined || !statesOf(query).some(isParked)) return {};
  const { counts } = await actOn(inbox, { ...query, act: "discard", dryRun: true });
  const left = unvouchedReasons.filter((code) => counts[code] !== undefined);
  return Object.fromEntries(left.map((code) => [code, counts[code]]));
}

/** A number of deliveries and their kinds: 3 deliveries (2 poison, 1 expired) */
export function amountOf(counts: Readonly<Partial<Record<string, number>>>): string {
  return `${counted(sumOf(counts), "delivery", "deliveries")} (${kindsOf(counts)})`;
}

/** The number of deliveries of each kind; the kind alone if there is only one. */
export function kindsOf(counts: Readonly<Partial<Record<string, number>>>): string {
  const kinds = Object.entries(counts);
  if (kinds.length === 1) return kinds[0]?.[0] ?? "";
  return kinds.map(([kind, count]) => `${count} ${kind}`).join(", ");
}
