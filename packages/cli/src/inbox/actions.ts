import { userInfo } from "node:os";
import {
  type Act,
  type ActQuery,
  type Entry,
  type Inbox,
  ReporthookError,
  type State,
} from "@reporthook/core";
import { actOn } from "@reporthook/core/store";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { usualReceiver } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type FilterOptions, isFiltered, queryOf } from "./filters.ts";
import { findId } from "./find.ts";
import { actOnMany, type Verb } from "./many.ts";
import {
  type InboxSource,
  livedTimeOf,
  noSuch,
  tellOfOthers,
  warnOfOthers,
  withInbox,
  withOpenInbox,
} from "./source.ts";

/** Options of `inbox release`, `inbox retry` and `inbox discard`. */
export interface ActingOptions extends InboxSource, FilterOptions {
  /** Left out, an id may be of any receiver. */
  readonly receiver?: string;
  readonly state?: State | "parked";
  readonly all?: true;
  readonly yes?: true;
}

const verbs: Readonly<Record<Act, Verb>> = {
  release: { verb: "release", doing: "Releasing", done: "released" },
  retry: { verb: "retry", doing: "Retrying", done: "retried" },
  discard: {
    ...{ verb: "discard", doing: "Discarding", done: "discarded" },
    note: "They are deleted for good.",
  },
};

/** Runs `inbox release`, `inbox retry` or `inbox discard`: on the named deliveries, or on all that the filters find. */
export async function runAct(
  terminal: Terminal,
  act: Act,
  ids: readonly string[],
  options: ActingOptions,
): Promise<void> {
  const verb = verbs[act];
  const by = nameOfUser();
  if (areNamed(ids, options, act)) {
    return withInbox(terminal, options, verb.doing, (inbox, source) =>
      each(terminal, ids, verb.done, async (given) => {
        const entry = await mustFind(inbox, given, options.receiver, source);
        const { id } = entry;
        const moment = await momentOf(inbox);
        const query: ActQuery = { act, id, receiver: options.receiver, by, ...moment };
        await actOn(inbox, query).catch((error: unknown) => {
          throw withRetry(error, query, entry);
        });
        return id;
      }),
    );
  }
  const { receiver = usualReceiver, yes = false } = options;
  await withOpenInbox(terminal, options, async (inbox, source) => {
    const moment = await momentOf(inbox);
    const query: ActQuery = { ...queryOf(options), act, receiver, by, ...moment };
    const found = await actOnMany(terminal, inbox, verb, { query, yes });
    if (found > 0 || terminal.json) return;
    const others = await actOn(inbox, { ...query, receiver: undefined, dryRun: true });
    if (others.total > 0) tellOfOthers(terminal, others.total);
    else await warnOfOthers(terminal, inbox, source, receiver);
  });
}

/** The name of the user, for the history of deliveries; null where the system knows none. */
function nameOfUser(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}

/** The error of a release, which for a waiting delivery names the other command. */
function withRetry(error: unknown, { act }: ActQuery, { nextAttemptAt }: Entry): unknown {
  const waits = nextAttemptAt !== null && nextAttemptAt.getTime() > Date.now();
  if (!(error instanceof ReporthookError) || act !== "release" || !waits) return error;
  return new CommandFailed(error.code, `${error.message}; inbox retry retries a waiting delivery`);
}

async function momentOf(inbox: Inbox): Promise<Pick<ActQuery, "now" | "wallOffset">> {
  const { clock } = await livedTimeOf(inbox);
  return { now: clock.now(), wallOffset: clock.wallOffset };
}

/** Whether ids are named, or else a kind. */
function areNamed(ids: readonly string[], options: ActingOptions, act: Act): boolean {
  const ofAKind = isFiltered(options) || options.all === true;
  if (ids.length > 0 !== ofAKind) return ids.length > 0;
  const kinds = act === "retry" ? "--state, --since" : "--reason, --type, --since";
  throw new UsageError(`Name the deliveries to ${act}, or choose a kind with ${kinds} or --all`);
}

async function mustFind(
  inbox: Inbox,
  given: string,
  receiver: string | undefined,
  source: InboxSource,
): Promise<Entry> {
  const id = await findId(inbox, given, source);
  if ((await inbox.get(id)) === null) throw noSuch(id, source);
  const found = await inbox.get(id, receiver);
  if (found !== null) return found;
  throw new CommandFailed(
    "not_found",
    `${id} does not belong to receiver ${receiver}: name its receiver with --receiver`,
  );
}

/** Applies an action to each delivery, prints each result, and fails at the end if one failed. */
async function each(
  terminal: Terminal,
  ids: readonly string[],
  done: string,
  act: (id: string) => Promise<string>,
): Promise<void> {
  const failed: { id: string; message: string }[] = [];
  const succeeded: string[] = [];
  for (const given of ids) {
    try {
      const id = await act(given);
      succeeded.push(id);
      terminal.print(`${id} ${done}`);
    } catch (error) {
      failed.push({ id: given, message: (error as Error).message });
    }
  }
  if (failed.length === 0) return terminal.emit({ [done]: succeeded });
  const message = failed.map((one) => one.message).join("; ");
  throw new CommandFailed(`not_${done}`, message, { [done]: succeeded, failed });
}
