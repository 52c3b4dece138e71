import { ReporthookError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { LivedClock } from "../lib/lived-clock.ts";
import { Timekeeper } from "../lib/timekeeper.ts";
import { assertKnownKeys, assertOption } from "../lib/validate.ts";
import { type Entry, type EntryDetails, type ReasonCode, states } from "./delivery.ts";
import type { Counts, Inbox, InboxQuery, Summary, SummaryQuery } from "./inbox.ts";

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
  /** Runs a held, dead or handled one, attempts from zero. Rejects `not_found` or `not_releasable`. */
  release(id: string): Promise<void>;
  /** Runs all that are parked for a reason; resolves to how many. */
  releaseAll(reason: ReasonCode): Promise<number>;
  /** Retries a waiting delivery immediately. Rejects `not_found` or `not_releasable`. */
  retry(id: string): Promise<void>;
  /** Deletes a parked one. Rejects `not_found` or `not_parked`. */
  discard(id: string): Promise<void>;
}

/** The part of a receiver, or of a tool without one, that looks into its inbox. */
export interface OfReceiver {
  readonly inbox: Inbox;
  readonly name: string;
  readonly clock: Clock;
  /** A receiver's; a tool has none. */
  readonly time?: Timekeeper;
}

/** Makes that view of an inbox; `prune` comes before every query. */
export function receiverInbox(
  { inbox, name, clock, time = new Timekeeper(new LivedClock(clock), inbox) }: OfReceiver,
  prune: () => Promise<void>,
  status: { readonly closed: boolean } = { closed: false },
): ReceiverInbox {
  const ask = async <T>(query: () => Promise<T>): Promise<T> => {
    if (!status.closed) return time.join().then(query);
    throw new ReporthookError("closed", `Receiver ${name} is closed: its inbox is asked no more`);
  };
  const afterPrune = <T>(query: () => Promise<T>): Promise<T> => ask(() => prune().then(query));
  return {
    list: async (query = {}) => {
      checkList(query);
      return afterPrune(() => inbox.list({ ...query, receiver: name }));
    },
    get: async (id) => {
      checkText("get: id", id);
      return afterPrune(() => inbox.get(id, name));
    },
    counts: () => afterPrune(() => inbox.counts(name)),
    summary: async (query) => {
      assertKnownKeys("summary", query, ["from", "until"]);
      checkDate("summary: from", query.from);
      checkDate("summary: until", query.until);
      return afterPrune(() => inbox.summary({ ...query, receiver: name }));
    },
    release: async (id) => {
      checkText("release: id", id);
      await ask(() => inbox.release({ receiver: name, id, now: time.clock.now() }));
    },
    releaseAll: async (reason) => {
      checkText("releaseAll: reason", reason);
      return ask(() => inbox.release({ receiver: name, reason, now: time.clock.now() }));
    },
    retry: async (id) => {
      checkText("retry: id", id);
      await ask(() => inbox.release({ receiver: name, retry: id, now: time.clock.now() }));
    },
    discard: async (id) => {
      checkText("discard: id", id);
      await ask(() => inbox.discard(id, name));
    },
  };
}

const asked: readonly string[] = [
  ...["state", "type", "reportId", "reason", "from", "until", "idPrefix", "newestFirst"],
  ...["limit", "after"],
];

function checkList(query: Omit<InboxQuery, "receiver">): void {
  assertKnownKeys("list", query, asked);
  const { state = "parked", limit = 1 } = query;
  const isState = state === "parked" || states.includes(state);
  assertOption("list: state", `parked or one of ${states.join(", ")}`, state, isState);
  const isCount = Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY;
  assertOption("list: limit", "an integer from 1, or Infinity", limit, isCount && limit >= 1);
  for (const date of ["from", "until"] as const) {
    if (query[date] !== undefined) checkDate(`list: ${date}`, query[date]);
  }
  const { newestFirst = false } = query;
  const isChoice = typeof newestFirst === "boolean";
  assertOption("list: newestFirst", "true or false", newestFirst, isChoice);
  for (const text of ["type", "reportId", "reason", "idPrefix", "after"] as const) {
    checkText(`list: ${text}`, query[text] ?? "");
  }
}

function checkDate(name: string, date: unknown): void {
  // Not by instanceof: it may be of another realm, as in Jest.
  const isDate = Object.prototype.toString.call(date) === "[object Date]";
  assertOption(name, "a valid Date", date, isDate && Number.isFinite(Number(date)));
}

function checkText(name: string, given: unknown): void {
  assertOption(name, "a string", given, typeof given === "string");
}
