import type { EventType } from "../events/events.ts";
import { isParked, type ReasonCode, type State } from "./delivery.ts";
import { idAt } from "./id.ts";
import type { StoredDelivery } from "./stored-delivery.ts";

/** The filters of a list, and of a selection. */
export interface InboxFilters {
  /** In this state; `parked` is held or dead. */
  readonly state?: State | "parked" | undefined;
  /** With this event type, known once it is verified. */
  readonly type?: EventType | undefined;
  /** Of this report. */
  readonly reportId?: string | undefined;
  /** That came to the callback URL of this request. */
  readonly requestId?: string | undefined;
  /** Parked or rejected for this reason. */
  readonly reason?: ReasonCode | undefined;
  /** With this key of a group of equal errors. */
  readonly error?: string | undefined;
  /** Received at this moment or later, by the time in their ids. */
  readonly from?: Date | undefined;
  /** Received before this moment, by the time in their ids. */
  readonly until?: Date | undefined;
  /** Only entries whose id begins with this text. */
  readonly idPrefix?: string | undefined;
}

/** The filters and the order of a list. */
export interface InboxQuery extends InboxFilters {
  /** Of this receiver; of all when left out. */
  readonly receiver?: string | undefined;
  /** Oldest first when left out. */
  readonly newestFirst?: boolean | undefined;
  /** At most this many; 100 when left out. */
  readonly limit?: number | undefined;
  /** Only entries after this id, in the order of the list. */
  readonly after?: string | undefined;
}

/** Whether a state is one of those asked for. */
export function isChosen(state: State, asked: InboxQuery["state"]): boolean {
  return asked === undefined || asked === state || (asked === "parked" && isParked(state));
}

/** The question of {@link Inbox.summary}. */
export interface SummaryQuery {
  readonly receiver?: string | undefined;
  /** The span of time whose minutes are counted. */
  readonly from: Date;
  readonly until: Date;
}

/** The question of {@link Inbox.errors}: about parked entries when no state is given. */
export type ErrorsQuery = Pick<InboxQuery, "receiver" | "state">;

/** The ids that a query may find: `first` and greater ones, all smaller than `below`. */
export function idRange(query: InboxQuery): { readonly first: string; readonly below: string } {
  const { from, until, idPrefix, after, newestFirst = false } = query;
  // A space sorts before, and a tilde after, every character of an id.
  const firsts = [idPrefix ?? "", from === undefined ? "" : idAt(from.getTime())];
  const belows = [`${idPrefix ?? ""}~`, until === undefined ? "~" : idAt(until.getTime())];
  if (after !== undefined) newestFirst ? belows.push(after) : firsts.push(`${after} `);
  return { first: firsts.sort().at(-1) ?? "", below: belows.sort()[0] ?? "~" };
}

/** Makes the comparison of deliveries with the filters of a query. */
export function filterOf(query: InboxQuery): (stored: StoredDelivery) => boolean {
  const { receiver, state, type, reportId, requestId, reason, error } = query;
  const { first, below } = idRange(query);
  return (stored) =>
    isChosen(stored.state, state) &&
    (receiver === undefined || receiver === stored.receiver) &&
    (type === undefined || type === stored.type) &&
    (reportId === undefined || reportId === stored.reportId) &&
    (requestId === undefined || requestId === stored.requestId) &&
    (reason === undefined || reason === stored.reason?.code) &&
    (error === undefined || error === stored.error) &&
    stored.id >= first &&
    stored.id < below;
}

/** The deliveries that a query finds, in its order. */
export function filterEntries(all: Iterable<StoredDelivery>, query: InboxQuery): StoredDelivery[] {
  const { newestFirst = false, limit = 100 } = query;
  const found = [...all].filter(filterOf(query));
  // Nearly always they are in order already: that costs no more than to have looked.
  found.sort((one, other) => (one.id < other.id ? -1 : 1));
  return newestFirst ? found.reverse().slice(0, limit) : found.slice(0, limit);
}
