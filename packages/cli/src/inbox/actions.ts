import { hostname, userInfo } from "node:os";
import { type Act, type ActQuery, type Entry, type Inbox, ReporthookError } from "@reporthook/core";
import { actOn, parkedReasons } from "@reporthook/core/store";
import type { Command, Option } from "commander";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { choiceOption, receiverOption, usualReceiver } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type FilterOptions, findEntry, queryOf, withFilters } from "./find.ts";
import { actOnMany, type Verb } from "./many.ts";
import {
  addInboxCommand,
  type InboxSource,
  livedTimeOf,
  warnOfOthers,
  withInbox,
} from "./source.ts";

interface ActingOptions extends InboxSource, FilterOptions {
  readonly all?: true;
  readonly yes?: true;
}

const parkedStates = ["held", "dead", "parked"];

/** The states of deliveries that `retry` is for, not `release`. */
export const retriedStates = ["received", "verified", "rejected"] as const;

const theirs = "the receiver of the deliveries";
const ofParked = (states: readonly string[]): Option[] => [
  choiceOption("--reason <code>", "all deliveries parked for this reason", parkedReasons),
  choiceOption("--state <state>", "all in this state (default: parked)", states),
];

/** The texts of the command for each act, and the options that are its own. */
const commands = {
  release: {
    doing: "Releasing",
    done: "released",
    what: "Run held, dead or handled deliveries again; attempts start from zero.",
    examples: {
      "two of them": "reporthook inbox release 01m7qk2v 01m8 --db inbox.db",
      "run all that failed": "reporthook inbox release --reason attempts_used_up",
      "in a script": "reporthook inbox release --reason schema_mismatch --yes --db inbox.db",
    },
    options: [...ofParked([...parkedStates, "handled"]), receiverOption(theirs, usualReceiver)],
    all: "every parked delivery that somebody vouches for",
  },
  retry: {
    doing: "Retrying",
    done: "retried",
    what: "Retry waiting deliveries immediately, or ask again about rejected ones.",
    examples: {
      "the service is back": "reporthook inbox retry --all",
      "the key was wrong, and is right": "reporthook inbox retry --state rejected",
    },
    options: [
      choiceOption("--reason <code>", "all rejected for this reason", [
        "invalid_signature",
        "expired",
      ]),
      choiceOption("--state <state>", "all in this state", retriedStates),
      receiverOption(theirs, usualReceiver),
    ],
    all: "every waiting delivery",
  },
  discard: {
    doing: "Discarding",
    done: "discarded",
    note: "They are deleted for good.",
    what: "Delete held or dead deliveries.",
    examples: {
      "a useless one": "reporthook inbox discard 01m7qk2v",
      "all of a kind": "reporthook inbox discard --reason unsigned",
    },
    options: [
      ...ofParked(parkedStates),
      receiverOption(`${theirs} (default: ${usualReceiver}; of an id: any)`),
    ],
    all: "every parked delivery",
  },
};

/** Adds `inbox release`, `inbox retry` or `inbox discard`, for named deliveries or all that the filters find. */
export function addAct(group: Command, terminal: Terminal, act: Act): void {
  const { what, examples, options: own, all } = commands[act];
  const command = addInboxCommand(group, `${act} [ids...]`, what, examples);
  for (const option of own) command.addOption(option);
  withFilters(command, "all deliveries")
    .option("--all", all)
    .option("--yes", "do not ask")
    .action(async (ids: string[], options: ActingOptions) => {
      const filters = queryOf(options);
      const isKind = options.all || Object.values(filters).some((value) => value !== undefined);
      if (isKind === ids.length > 0) {
        const kinds = act === "retry" ? "--state, --since" : "--reason, --type, --since";
        throw new UsageError(
          `Choose the deliveries to ${act} either by their ids, or with ${kinds} or --all`,
        );
      }
      const { receiver, yes = false } = options;
      const verb: Verb = commands[act];
      await withInbox(terminal, options, isKind ? null : verb.doing, async (inbox, source) => {
        const query = { act, receiver, ...(await actorOn(inbox)) };
        if (!isKind) return actOnEach(terminal, inbox, { ids, query, done: verb.done });
        const ofKind = { ...query, ...filters, receiver: receiver ?? usualReceiver };
        const found = await actOnMany(terminal, inbox, verb, { query: ofKind, yes });
        if (found > 0 || terminal.json) return;
        const others = await actOn(inbox, { ...ofKind, receiver: undefined, dryRun: true });
        if (others.total > 0) {
          terminal.tell(`Of other receivers: ${others.total}; name one with --receiver.`);
        } else {
          await warnOfOthers(terminal, inbox, { ...source, receiver: ofKind.receiver });
        }
      });
    });
}

/** Acts once on each of the named deliveries, prints each result, and fails at the end if one failed. */
async function actOnEach(
  terminal: Terminal,
  inbox: Inbox,
  { ids, query, done }: { readonly ids: readonly string[]; query: ActQuery; done: string },
): Promise<void> {
  const failed = new Map<string, string>();
  const entries = new Map<string, Entry>();
  // All before the first act: once one is deleted, the beginning of an id may mean another.
  for (const given of ids) {
    try {
      const entry = await findEntry(inbox, given);
      entries.set(entry.id, entry);
    } catch (error) {
      failed.set(given, (error as Error).message);
    }
  }
  const succeeded: string[] = [];
  for (const [id, entry] of entries) {
    try {
      await actOn(inbox, { ...query, id });
      succeeded.push(id);
      terminal.print(`${id} ${done}`);
    } catch (error) {
      failed.set(id, refusalOf(error as Error, entry, query));
    }
  }
  if (failed.size === 0) return terminal.emit({ [done]: succeeded }, []);
  const message = [...failed.values()].join("; ");
  const each = Array.from(failed, ([id, why]) => ({ id, message: why }));
  throw new CommandFailed(`not_${done}`, message, { [done]: succeeded, failed: each });
}

/** Why a delivery was refused, with the command or the receiver that is meant. */
function refusalOf(error: Error, entry: Entry, { act, receiver }: ActQuery): string {
  const { message } = error;
  if (!(error instanceof ReporthookError)) return message;
  if (error.code === "not_found" && receiver !== undefined) {
    return `${entry.id} does not belong to receiver ${receiver}: name its receiver with --receiver`;
  }
  if (act !== "release" || Number(entry.nextAttemptAt) <= Date.now()) return message;
  return `${message}; inbox retry retries a waiting delivery`;
}

/** The person who acts on an inbox, and the moment, by the time that it has lived through. */
export async function actorOn(inbox: Inbox): Promise<Pick<ActQuery, "by" | "now" | "wallOffset">> {
  const { clock } = await livedTimeOf(inbox);
  let by: string | null = null;
  try {
    by = `${userInfo().username}@${hostname()}`;
  } catch {
    // The system knows no name.
  }
  return { by, now: clock.now(), wallOffset: clock.wallOffset };
}
