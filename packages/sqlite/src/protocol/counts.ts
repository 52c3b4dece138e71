import type {
  Arrival,
  Backlog,
  Counts,
  NewDelivery,
  ReasonCounts,
  RequestCounts,
} from "@reporthook/core";
import {
  addCounts,
  isFailing,
  isParked,
  parkedReasons,
  requestStates,
  type StoredDelivery,
  states,
  withoutToken,
} from "@reporthook/core/store";

/** Counts of one receiver's deliveries and requests, by their names, which are a part of the file's format. */
export type Tally = Readonly<Record<string, number>>;

/** The tallies that have changed, by receiver. */
export type ChangedTallies = ReadonlyMap<string, Tally>;

/** No count: the time at which the newest notification of a receiver was received. */
export const newestName = "newest";

/** All deliveries ever stored, whosever they are: the last number, in the tally of the first receiver in the file. */
export const everName = "ever";
/** The id of that receiver. */
export const everReceiver = 1;

/** The parts of a delivery that decide where it counts. */
export type Countable = Pick<
  StoredDelivery,
  "state" | "lastTurnAt" | "verification" | "context" | "reason" | "attempts"
>;

/** The kind of most new deliveries. */
export const usualKind = "received unverified";

/** The names of the counts that a delivery is in, in one text: it crosses between the threads with each. */
export function kindOf(stored: Countable): string {
  const { state, lastTurnAt, verification, context, reason } = stored;
  const unsigned = verification === "unsigned";
  const unverified = state === "received" && lastTurnAt === null;
  let names: string = unverified ? usualKind : state;
  if (state === "verified" && unsigned) names += " unsignedWaiting";
  if (state === "held" && unsigned) names += " unsignedHeld";
  if (context === withoutToken && (unverified || state === "held")) names += " withoutToken";
  if (isFailing(stored)) names += " failing";
  if (isParked(state) && reason !== null) names += ` parked:${reason.code}`;
  return names;
}

/** Whether a new delivery is of that kind, and nothing is known of it. */
export function isUsual({ context }: NewDelivery, arrival: Arrival): boolean {
  const isNew = arrival.to === "received" && arrival.retryState === undefined;
  return isNew && context !== withoutToken;
}

// To take a text apart costs several times as much as to count.
const namesOf = new Map<string, readonly string[]>();

/** Adds to the counts with these names, under a key. */
export function countIn<Key>(
  all: Map<Key, Record<string, number>>,
  key: Key,
  kind: string,
  by: number,
): void {
  const tally = all.get(key) ?? added(all, key, {});
  const names = namesOf.get(kind) ?? added(namesOf, kind, kind.split(" "));
  for (const name of names) tally[name] = (tally[name] ?? 0) + by;
}

function added<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value);
  return value;
}

/** The sum of tallies, name by name. */
export function sumOfTallies(all: Iterable<Tally>): Tally {
  const sum: Record<string, number> = {};
  for (const tally of all) addCounts(sum, tally);
  return sum;
}

/** The deliveries that are parked, or were when they were deleted, by reason: of those that have any. */
export function byReason(tally: Tally, what: "parked" | "deleted"): ReasonCounts {
  const numbers = parkedReasons.map((code) => [code, tally[`${what}:${code}`] ?? 0] as const);
  return Object.fromEntries(numbers.filter(([, number]) => number !== 0));
}

/** Counts by state, as the inbox gives them. */
export function countsByState(tally: Tally): Counts {
  const numbers = states.map((state) => [state, tally[state] ?? 0]);
  return Object.fromEntries(numbers);
}

/** Counts of requests, as the inbox gives them. */
export function requestCounts(tally: Tally): RequestCounts {
  const numbers = [...requestStates, "overdue"].map((name) => [
    name,
    tally[`request:${name}`] ?? 0,
  ]);
  return Object.fromEntries(numbers);
}

/** The backlog of one receiver: its stored deliveries and the `pending` ones, on their way to the file. */
export function backlogOf(stored: Tally = {}, pending: Tally = {}): Backlog {
  const of = (name: string): number => (stored[name] ?? 0) + (pending[name] ?? 0);
  return {
    waiting: of("received") + of("verified"),
    unverified: of("unverified"),
    unsignedWaiting: of("unsignedWaiting"),
    unsignedHeld: of("unsignedHeld"),
    withoutToken: of("withoutToken"),
  };
}
