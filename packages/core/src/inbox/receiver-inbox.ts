import { ReporthookError } from "../errors.ts";
import { eventNames } from "../events/events.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import {
  assertBoolean,
  assertDate,
  assertKnownKeys,
  assertLimit,
  assertOption,
  assertText,
} from "../lib/validate.ts";
import type { Act, ActsQuery, Selection } from "./acts/act.ts";
import type { LoggedAct } from "./acts/act-log.ts";
import { type ActCount, actOn } from "./acts/acting.ts";
import type { Counts, ReasonCounts } from "./counts.ts";
import { type Entry, type EntryDetails, reasonCodes, states } from "./delivery.ts";
import type { ErrorGroup } from "./facts/error-groups.ts";
import { type Hour, hourKey, hoursIn } from "./facts/hours.ts";
import type { Summary } from "./facts/summary.ts";
import type { Inbox } from "./inbox.ts";
import type { ErrorsQuery, InboxFilters, InboxQuery, SummaryQuery } from "./query.ts";
import type { Phase } from "./receivers.ts";
import { Timekeeper } from "./timekeeper.ts";

/** The options of an act. */
export interface ActOptions {
  /** The person who acts, for the history of the entries. */
  readonly by?: string | undefined;
  /** Counts by reason, and changes nothing. */
  readonly dryRun?: boolean | undefined;
}

/** Acts on an entry by its id, or on a selection; resolves to how many, or with `dryRun` to how many by reason. */
export interface ActOn {
  (which: string | Selection, options: ActOptions & { dryRun: true }): Promise<ReasonCounts>;
  (
    which: string | Selection,
    options?: ActOptions & { dryRun?: false | undefined },
  ): Promise<number>;
  (which: string | Selection, options?: ActOptions): Promise<ReasonCounts | number>;
}

/** A receiver's deliveries, for the person who looks after them. Rejects with a TypeError for an id that is no text. */
export interface ReceiverInbox {
  /** Oldest first, unless told. Rejects with a TypeError for an unknown name in the query, or a wrong state, limit or date; `not_searchable` for what BullMQ can't look for. */
  list(query?: Omit<InboxQuery, "receiver">): Promise<Entry[]>;
  /** One in full, or null. */
  get(id: string): Promise<EntryDetails | null>;
  /** The number of deliveries in each state. */
  counts(): Promise<Counts>;
  /**
   * The numbers of an inbox: everything it holds, and the notifications received in a span of time. Rejects with a TypeError
   * without its two dates.
   */
  summary(query: Omit<SummaryQuery, "receiver">): Promise<Summary>;
  /** The numbers of each hour from the one of `from` on, oldest first; kept for 30 days. Rejects with a TypeError without a date. */
  hours(from: Date): Promise<Hour[]>;
  /**
   * Runs entries again, attempts from zero: held and dead ones; handled ones by id or with `state: "handled"`. A selection
   * without a reason leaves out what nobody vouches for: `unsigned`, `expired`, `not_verified`, `reused_signature`, `no_token`.
   * Rejects `not_found` or `not_releasable` for an id, and with a TypeError for a selection without a filter.
   */
  readonly release: ActOn;
  /** Retries waiting entries immediately; attempts continue to count. Rejects `not_found` or `not_releasable` for an id. */
  readonly retry: ActOn;
  /** Deletes parked entries. Rejects `not_found` or `not_parked` for an id. */
  readonly discard: ActOn;
  /** The groups of entries with equal errors, parked ones unless told, largest first. Rejects as `list` does. */
  errors(query?: Omit<ErrorsQuery, "receiver">): Promise<ErrorGroup[]>;
  /** The last acts of people on these entries, at most 1,000, newest first. Rejects with a TypeError for a wrong limit. */
  acts(query?: Omit<ActsQuery, "receiver">): Promise<LoggedAct[]>;
}

/** A receiver as its inbox, its health and its reports are looked at; a tool has the view of one that may run elsewhere. */
export interface ReceiverView {
  readonly inbox: Inbox;
  readonly name: string;
  readonly clock: LivedClock;
  readonly time: Timekeeper;
  readonly phase: Phase;
  /** Prunes the inbox before it is looked at; a tool leaves that to receivers. */
  prune(): Promise<void>;
}

/** Makes the view of a tool, for which no receiver has to run. */
export function toolView(inbox: Inbox, name: string): ReceiverView {
  const clock = new LivedClock();
  const time = new Timekeeper(inbox, clock);
  return { inbox, name, clock, time, phase: "working", prune: async () => {} };
}

/** Asks the inbox once its time is joined. Rejects `closed` once the receiver is: the inbox would be opened again. */
export async function askInbox<T>(receiver: ReceiverView, query: () => Promise<T>): Promise<T> {
  const { name, phase, time } = receiver;
  if (phase !== "closed") return time.join().then(query);
  throw new ReporthookError("closed", `Receiver ${name} is closed: its inbox is asked no more`);
}

/** An entry in full, or null; the context of its request is kept with the request. */
export async function getEntry(
  inbox: Pick<Inbox, "get" | "requests">,
  id: string,
  receiver?: string,
): Promise<EntryDetails | null> {
  const entry = await inbox.get(id, receiver);
  if (entry === null || entry.requestId === null) return entry;
  const { context = null } = (await inbox.requests?.get(entry.requestId, receiver)) ?? {};
  return { ...entry, context: context === null ? null : JSON.parse(context) };
}

/** Makes a receiver's `inbox`. */
export function receiverInbox(receiver: ReceiverView): ReceiverInbox {
  const { clock, inbox, name } = receiver;
  const acting = (act: Act): ActOn => {
    const carryOut = async (which: string | Selection, options: ActOptions = {}) => {
      checkOptions(act, options);
      const selection = typeof which === "string" ? { id: which } : selectionOf(act, which);
      const { by = null, dryRun } = options;
      const query = { ...selection, act, receiver: name, by, dryRun };
      const { counts, total }: ActCount = await askInbox(receiver, () => {
        const { wallOffset } = clock;
        return actOn(inbox, { ...query, now: clock.now(), wallOffset });
      });
      return dryRun === true ? counts : total;
    };
    return carryOut as ActOn;
  };
  const afterPrune = <T>(query: () => Promise<T>): Promise<T> =>
    askInbox(receiver, () => receiver.prune().then(query));
  return {
    list: async (given = {}) => {
      const query = listQueryOf(given);
      return afterPrune(() => inbox.list({ ...query, receiver: name }));
    },
    get: async (id) => {
      assertText("get: id", id);
      return afterPrune(() => getEntry(inbox, id, name));
    },
    counts: () => afterPrune(() => inbox.counts(name)),
    summary: async (given) => {
      const query = readOnce("summary", given, ["from", "until"]);
      assertDate("summary: from", query.from);
      assertDate("summary: until", query.until);
      return afterPrune(() => inbox.summary({ ...query, receiver: name }));
    },
    hours: async (from) => {
      assertDate("hours: from", from);
      return askInbox(receiver, async () => hoursIn(await inbox.notes(name, hourKey), from));
    },
    release: acting("release"),
    retry: acting("retry"),
    discard: acting("discard"),
    errors: async (given = {}) => {
      const query = readOnce("errors", given, ["state"]);
      checkFilters("errors", query);
      return afterPrune(() => inbox.errors({ ...query, receiver: name }));
    },
    acts: async (given = {}) => {
      const query = readOnce("acts", given, ["limit"]);
      assertLimit("acts", query.limit);
      return askInbox(receiver, () => inbox.acts({ ...query, receiver: name }));
    },
  };
}

const texts = ["state", "type", "reportId", "requestId", "reason", "error", "idPrefix"] as const;
const filters = [...texts, "from", "until"] as const;
/** The filters for which there are so many values only. */
const chosen: Readonly<Record<"state" | "type" | "reason", readonly string[]>> = {
  state: ["parked", ...states],
  type: eventNames.filter((name) => name !== "report" && name !== "*"),
  reason: reasonCodes,
};
const asked = [...filters, "newestFirst", "limit", "after"] as const;

function listQueryOf(given: Omit<InboxQuery, "receiver">): Omit<InboxQuery, "receiver"> {
  const query = readOnce("list", given, asked);
  checkFilters("list", query);
  const { limit, newestFirst = false, after = "" } = query;
  assertLimit("list", limit);
  assertBoolean("list: newestFirst", newestFirst);
  assertText("list: after", after);
  return query;
}

function checkOptions(act: Act, options: ActOptions): void {
  assertKnownKeys(act, options, ["by", "dryRun"]);
  assertText(`${act}: by`, options.by ?? "");
  assertBoolean(`${act}: dryRun`, options.dryRun ?? false);
}

function selectionOf(act: Act, given: Selection): Selection {
  const isSelection = typeof given === "object" && given !== null;
  assertOption(`${act}: the first argument`, "an id or a selection", given, isSelection);
  const which = readOnce(act, given, [...filters, "unchangedSince"]);
  checkFilters(act, which);
  if (which.unchangedSince !== undefined)
    assertDate(`${act}: unchangedSince`, which.unchangedSince);
  if (filters.some((name) => which[name] !== undefined && which[name] !== "")) return which;
  throw new TypeError(
    `${act}: give at least one filter of ${filters.join(", ")}; state: "parked" means all parked ones`,
  );
}

/**
 * A copy of the options by their names: an object may inherit or compute them, and a date may be changed afterwards; they are checked
 * as they are asked.
 */
function readOnce<T extends object>(
  whose: string,
  given: T,
  names: readonly (keyof T & string)[],
): T {
  assertKnownKeys(whose, given, names);
  const read = names.map((name) => {
    const value: unknown = given[name];
    return [name, value instanceof Date ? new Date(value) : value] as const;
  });
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as T;
}

function checkFilters(whose: string, query: InboxFilters): void {
  for (const date of ["from", "until"] as const) {
    if (query[date] !== undefined) assertDate(`${whose}: ${date}`, query[date]);
  }
  for (const text of texts) {
    if (query[text] !== undefined) assertText(`${whose}: ${text}`, query[text]);
  }
  // One that is misspelt would find nothing.
  for (const [name, known] of Object.entries(chosen)) {
    const value = query[name as keyof typeof chosen];
    const fits = value === undefined || known.includes(value);
    assertOption(`${whose}: ${name}`, `one of ${known.join(", ")}`, value, fits);
  }
}
