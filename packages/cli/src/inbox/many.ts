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
import { type AskedAct, confirm } from "../lib/ask.ts";
import { CommandFailed } from "../lib/errors.ts";
import { capital } from "../lib/layout.ts";
import { endOfCommand } from "../lib/listen.ts";
import type { Terminal } from "../lib/terminal.ts";

/** An act on deliveries, in the words of messages. */
export interface Verb extends AskedAct {
  readonly doing: string;
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
  verb: Verb,
  { query, yes }: { readonly query: ActQuery; readonly yes: boolean },
): Promise<number> {
  const { doing, done } = verb;
  const leftOut = await terminal.during("Looking", () => leftOutOf(inbox, query));
  const hasLeft = Object.keys(leftOut).length > 0;
  if (hasLeft) {
    terminal.tell(
      `Left out: ${counted(sumOf(leftOut), "delivery", "deliveries")} that nobody vouches for (${kindsOf(leftOut)}). Check each, then name its id, or name the reason with --reason.`,
    );
  }
  const shown = yes ? null : await terminal.during("Looking", () => lookFor(inbox, query));
  if (shown !== null && shown.total > 0) await confirm(terminal, verb, amountOf(shown.counts));
  const confirmed = { ...query, unchangedSince: shown?.changedAt ?? undefined };
  const work = { doing, done, of: shown?.total };
  const { total } = await carryOut(terminal, inbox, confirmed, work);
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

/** Carries out the steps of an act, until Ctrl-C. */
async function carryOut(
  terminal: Terminal,
  inbox: Inbox,
  query: ActQuery,
  { doing, done, of }: Pick<Verb, "doing" | "done"> & { readonly of: number | undefined },
): Promise<ActCount> {
  const count = new ActCount();
  const told = of === undefined ? "" : ` of ${of}`;
  const soFar = (): string => `${count.total} ${done}, the rest is as it was`;
  const ending = endOfCommand();
  try {
    await terminal.during(`${doing}${told}`, async (say) => {
      for await (const step of inbox.act(query)) {
        count.addStep(step);
        say(`${doing}: ${count.total}${told}`);
        if (ending.signal.aborted) break;
      }
    });
    if (!ending.signal.aborted) return count;
  } catch (error) {
    const { code = "unexpected", message } = error as { code?: string; message: string };
    throw new CommandFailed(code, `${message}. ${soFar()}`, { [done]: count.total });
  } finally {
    ending.abort();
  }
  throw new CommandFailed("interrupted", `Interrupted: ${soFar()}`, { [done]: count.total });
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
