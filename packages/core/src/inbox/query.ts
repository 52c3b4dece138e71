import { withoutToken } from "../callback-urls/callback-url.ts";
import { minuteMs } from "../lib/time/units.ts";
import { type InboxQuery, isChosen, type SummaryQuery } from "./acts/selection.ts";
import { isParked, type ReasonCode, type State, states } from "./delivery.ts";
import type { Summary } from "./facts/facts.ts";
import { idAt } from "./id.ts";
import type { Backlog } from "./inbox.ts";
import type { StoredDelivery } from "./stored-delivery.ts";

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

/** Counts deliveries, as {@link Summary} shows them. */
export function summarize(
  all: Iterable<StoredDelivery>,
  { receiver, from, until }: SummaryQuery,
): Summary {
  const parked: Partial<Record<ReasonCode, number>> = {};
  let parkedChangedAt = Number.NEGATIVE_INFINITY;
  const oldest = Object.fromEntries(states.map((state) => [state, null])) as Record<
    State,
    Date | null
  >;
  const minutes = new Map<number, Record<State, number>>();
  const { first, below } = idRange({ from, until });
  for (const { receiver: of, id, state, reason, receivedAt, changedAt } of all) {
    if (receiver !== undefined && receiver !== of) continue;
    if (isParked(state) && reason !== null) {
      parked[reason.code] = (parked[reason.code] ?? 0) + 1;
      parkedChangedAt = Math.max(parkedChangedAt, changedAt);
    }
    if (receivedAt < (oldest[state]?.getTime() ?? Number.POSITIVE_INFINITY)) {
      oldest[state] = new Date(receivedAt);
    }
    if (id < first || id >= below) continue;
    const at = receivedAt - (receivedAt % minuteMs);
    const counts = minutes.get(at) ?? zeroCounts();
    counts[state]++;
    minutes.set(at, counts);
  }
  const inOrder = [...minutes].sort(([one], [other]) => one - other);
  return {
    parked,
    oldest,
    parkedChangedAt: Number.isFinite(parkedChangedAt) ? new Date(parkedChangedAt) : null,
    minutes: inOrder.map(([at, counts]) => ({ at: new Date(at), counts })),
  };
}

/** Counts of nothing, to be counted up. */
export function zeroCounts(): Record<State, number> {
  return { received: 0, verified: 0, handled: 0, held: 0, rejected: 0, dead: 0 };
}

/** An empty backlog. */
export const noBacklog: Backlog = {
  waiting: 0,
  unverified: 0,
  unsignedWaiting: 0,
  unsignedHeld: 0,
  withoutToken: 0,
};

/** Adds a delivery to a backlog, or takes it out: in place, because this is done at each step of each delivery. */
export function countInBacklog(
  backlog: { -readonly [Name in keyof Backlog]: Backlog[Name] },
  { state, lastTurnAt, verification, context }: StoredDelivery,
  by: 1 | -1,
): void {
  const unsigned = verification === "unsigned";
  const unverified = state === "received" && lastTurnAt === null;
  if (state === "received" || state === "verified") backlog.waiting += by;
  if (unverified) backlog.unverified += by;
  if (state === "verified" && unsigned) backlog.unsignedWaiting += by;
  if (state === "held" && unsigned) backlog.unsignedHeld += by;
  if (context === withoutToken && (unverified || state === "held")) backlog.withoutToken += by;
}

/** Counts deliveries by state: of a receiver, or all. */
export function countStates(
  all: Iterable<StoredDelivery>,
  receiver: string | undefined,
): Record<State, number> {
  const counts = zeroCounts();
  for (const stored of all) {
    if (receiver === undefined || receiver === stored.receiver) counts[stored.state]++;
  }
  return counts;
}
