import { type Entry, type Inbox, ReporthookError, type State } from "@reporthook/core";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { usualReceiver } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type FilterOptions, isFiltered, queryOf } from "./filters.ts";
import { findId } from "./find.ts";
import { allOf, onMany, type Verb } from "./many.ts";
import {
  type InboxSource,
  livedTimeOf,
  noSuch,
  tellOfOthers,
  warnOfOthers,
  withInbox,
  withOpenInbox,
} from "./source.ts";

/** Options of `inbox retry` and `inbox discard`, which choose many deliveries of a receiver. */
export interface ManyOptions extends InboxSource, FilterOptions {
  readonly receiver: string;
  readonly all?: true;
  readonly yes?: true;
}

/** Options of `inbox discard`: an id is clear without a receiver. */
export interface DiscardOptions extends Omit<ManyOptions, "receiver"> {
  readonly receiver?: string;
}

/** Options of `inbox release`. */
export interface ReleaseOptions extends ManyOptions {
  readonly state?: State | "parked";
}

const releasing: Verb = { verb: "release", doing: "Releasing", done: "released" };
const retrying: Verb = { verb: "retry", doing: "Retrying", done: "retried" };
const discarding: Verb = {
  ...{ verb: "discard", doing: "Discarding", done: "discarded" },
  note: "They are deleted for good.",
};

/** Runs `inbox release`: releases the named deliveries, or all that the filters find. */
export async function runRelease(
  terminal: Terminal,
  ids: readonly string[],
  options: ReleaseOptions,
): Promise<void> {
  const { receiver, state } = options;
  if (areNamed(ids, options, releasing, state !== undefined)) {
    return withInbox(terminal, options, "Releasing", (inbox, source) => {
      return each(terminal, ids, "released", async (given) => {
        const { id, nextAttemptAt } = await mustFind(inbox, given, receiver, source);
        const waits = nextAttemptAt !== null && nextAttemptAt.getTime() > Date.now();
        await inbox.release({ receiver, id, now: await nowOf(inbox) }).catch((error: unknown) => {
          if (!(error instanceof ReporthookError) || !waits) throw error;
          const message = `${error.message}; inbox retry retries a waiting delivery`;
          throw new CommandFailed(error.code, message);
        });
        return id;
      });
    });
  }
  const query = { ...queryOf(options), state: state ?? "parked" };
  await many(terminal, releasing, options, {
    find: (inbox, of) => allOf(inbox, { ...query, receiver: of }),
    act: async (inbox, id) => inbox.release({ receiver, id, now: await nowOf(inbox) }),
  });
}

/** Runs `inbox retry`: retries the named deliveries, or all that the filters find, immediately. */
export async function runRetry(
  terminal: Terminal,
  ids: readonly string[],
  options: ManyOptions,
): Promise<void> {
  const { receiver } = options;
  if (areNamed(ids, options, retrying)) {
    return withInbox(terminal, options, "Retrying", (inbox, source) =>
      each(terminal, ids, "retried", async (given) => {
        const { id } = await mustFind(inbox, given, receiver, source);
        await inbox.release({ receiver, retry: id, now: await nowOf(inbox) });
        return id;
      }),
    );
  }
  const waits = ({ nextAttemptAt }: Entry): boolean => (nextAttemptAt?.getTime() ?? 0) > Date.now();
  await many(terminal, retrying, options, {
    find: async (inbox, of) => {
      const query = { ...queryOf(options), receiver: of };
      const states = ["received", "verified"] as const;
      return (await allOf(inbox, ...states.map((state) => ({ ...query, state })))).filter(waits);
    },
    act: async (inbox, id) => inbox.release({ receiver, retry: id, now: await nowOf(inbox) }),
  });
}

/** Runs `inbox discard`: deletes the named deliveries, or all that the filters find. */
export async function runDiscard(
  terminal: Terminal,
  ids: readonly string[],
  options: DiscardOptions,
): Promise<void> {
  if (areNamed(ids, options, discarding)) {
    return withInbox(terminal, options, "Discarding", (inbox, source) =>
      each(terminal, ids, "discarded", async (given) => {
        const { id } = await mustFind(inbox, given, options.receiver, source);
        await inbox.discard(id, options.receiver);
        return id;
      }),
    );
  }
  const { receiver = usualReceiver } = options;
  await many(
    terminal,
    discarding,
    { ...options, receiver },
    {
      find: (inbox, of) => allOf(inbox, { ...queryOf(options), receiver: of, state: "parked" }),
      act: (inbox, id) => inbox.discard(id, receiver),
    },
  );
}

async function nowOf(inbox: Inbox): Promise<number> {
  return (await livedTimeOf(inbox)).clock.now();
}

/** Whether ids are named, or else a kind. */
function areNamed(
  ids: readonly string[],
  options: DiscardOptions,
  { verb }: Verb,
  isChosen = false,
): boolean {
  const ofAKind = isFiltered(options) || isChosen || options.all === true;
  if (ids.length > 0 !== ofAKind) return ids.length > 0;
  const kinds = verb === "retry" ? "--type, --since" : "--reason, --type, --since";
  throw new UsageError(`Name the deliveries to ${verb}, or choose a kind with ${kinds} or --all`);
}

/** Finds deliveries of the receiver and applies an action to each; says if only others have such. */
async function many(
  terminal: Terminal,
  verb: Verb,
  options: ManyOptions,
  {
    find,
    act,
  }: {
    /** Finds those of a receiver, or of all. */
    readonly find: (inbox: Inbox, receiver?: string) => Promise<Entry[]>;
    readonly act: (inbox: Inbox, id: string) => Promise<unknown>;
  },
): Promise<void> {
  const { receiver, yes = false } = options;
  await withOpenInbox(terminal, options, async (inbox, source) => {
    const entries = await terminal.during("Looking", () => find(inbox, receiver));
    await onMany(terminal, verb, { entries, yes }, (id) => act(inbox, id));
    if (entries.length > 0 || terminal.json) return;
    const others = await find(inbox);
    if (others.length > 0) tellOfOthers(terminal, others.length);
    else await warnOfOthers(terminal, inbox, source, receiver);
  });
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
