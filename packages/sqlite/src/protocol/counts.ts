import type {
  Arrival,
  Backlog,
  Counts,
  Facts,
  NewDelivery,
  ParkedFact,
  RequestCounts,
} from "@reporthook/core";
import {
  isFailing,
  parkedReasons,
  type StoredDelivery,
  withoutToken,
} from "@reporthook/core/store";

/** The counted kinds of deliveries: the six states, and subsets with separate counts. A part of the file's format. */
const kinds = {
  received: 0,
  verified: 1,
  handled: 2,
  held: 3,
  rejected: 4,
  dead: 5,
  deprioritized: 6,
  unsignedVerified: 7,
  unsignedHeld: 8,
  withoutToken: 10,
  withoutTokenHeld: 11,
  failing: 17,
  unsignedFailing: 18,
} as const;

/** No count: the number of this kind is the time at which the newest notification of a receiver was received. */
export const newestKind = 19;

/** The first kind of those that are parked for a reason: each reason has one for each of these, which count them too. */
const firstParked = 20;
const parkedKinds: readonly number[] = [
  kinds.held,
  kinds.unsignedHeld,
  kinds.withoutTokenHeld,
  kinds.dead,
];
/** The kinds of a reason: those, and the deleted ones. */
const kindsOfReason = parkedKinds.length + 1;

/** The kind of all deliveries ever stored: its sum over all receivers is the last number. */
export const everKind = 9;
/** The id of the receiver with which they are counted, whosever they are: the first in the file. */
export const everReceiver = 1;

/** The kinds of requests: their states, and those that are overdue. */
export const requestKinds: Readonly<Record<keyof RequestCounts, number>> = {
  unconfirmed: 12,
  open: 13,
  complete: 14,
  internal_error: 15,
  overdue: 16,
};

/** Counts of deliveries and requests, at the index of their kind; none of a kind beyond the last. */
export type CountsByKind = readonly number[];

/** The counts of the receivers of which they have changed, by name. */
export type ChangedCounts = ReadonlyMap<string, CountsByKind>;

/** Adds to the count of a kind under a key; one that is parked for a reason is counted for any reason, too. */
export function countIn<Key>(all: Map<Key, number[]>, key: Key, kind: number, by: number): void {
  const counts = all.get(key) ?? [];
  all.set(key, counts);
  while (counts.length <= kind) counts.push(0);
  counts[kind] = (counts[kind] ?? 0) + by;
  const parked = kind < firstParked ? undefined : parkedKinds[(kind - firstParked) % kindsOfReason];
  if (parked !== undefined) counts[parked] = (counts[parked] ?? 0) + by;
}

/** The parts of a delivery that decide its kind. */
export type Countable = Pick<
  StoredDelivery,
  "state" | "lastTurnAt" | "verification" | "context" | "reason" | "attempts"
>;

/** The kind that a delivery is counted as. */
export function kindOf(stored: Countable): number {
  const { state, lastTurnAt, verification, context, reason } = stored;
  const unsigned = verification === "unsigned";
  if (state === "received" && lastTurnAt !== null) return kinds.deprioritized;
  if (state === "received" && context === withoutToken) return kinds.withoutToken;
  if (isFailing(stored)) return unsigned ? kinds.unsignedFailing : kinds.failing;
  if (state === "verified" && unsigned) return kinds.unsignedVerified;
  if (state !== "held" && state !== "dead") return kinds[state];
  const lacksToken = context === withoutToken;
  const held = lacksToken ? kinds.withoutTokenHeld : unsigned ? kinds.unsignedHeld : kinds.held;
  const parked = state === "held" ? held : kinds.dead;
  const number = reason === null ? -1 : reasonNumber(reason.code);
  if (number < 0) return parked;
  return firstParked + number * kindsOfReason + parkedKinds.indexOf(parked);
}

function reasonNumber(code: ParkedFact["reason"]): number {
  return (parkedReasons as readonly string[]).indexOf(code);
}

/** The number of parked deliveries for a reason. */
export function parkedFor(counts: CountsByKind, reason: ParkedFact["reason"]): number {
  const to = deletedKind(reason);
  return counts.slice(to - parkedKinds.length, to).reduce((sum, count) => sum + count, 0);
}

/** The kind of those that were parked for a reason when they were deleted. */
export function deletedKind(reason: ParkedFact["reason"]): number {
  return firstParked + reasonNumber(reason) * kindsOfReason + parkedKinds.length;
}

/** The number of parked deliveries that were deleted, by reason. */
export function deletedByReason(counts: CountsByKind): Facts["deleted"] {
  const numbers = parkedReasons.map((reason) => [reason, counts[deletedKind(reason)] ?? 0]);
  return Object.fromEntries(numbers.filter(([, number]) => number !== 0));
}

/** The number of deliveries that wait for another attempt because a handler failed. */
export function failingIn(counts: CountsByKind): number {
  return (counts[kinds.failing] ?? 0) + (counts[kinds.unsignedFailing] ?? 0);
}

/** Whether a new delivery is like most: of the kind `received`, and nothing is known of it. */
export function isUsual({ context }: NewDelivery, arrival: Arrival): boolean {
  const isNew = arrival.to === "received" && arrival.retryState === undefined;
  return isNew && context !== withoutToken;
}

/** The sum of counts, kind by kind. */
export function sumOfCounts(all: Iterable<CountsByKind>): CountsByKind {
  const sum: number[] = [];
  for (const counts of all) {
    for (const [kind, count] of counts.entries()) sum[kind] = (sum[kind] ?? 0) + count;
  }
  return sum;
}

/** Counts by state, as the inbox gives them. */
export function countsByState(counts: CountsByKind = []): Counts {
  const of = (kind: number): number => counts[kind] ?? 0;
  return {
    received: of(kinds.received) + of(kinds.deprioritized) + of(kinds.withoutToken),
    verified: of(kinds.verified) + of(kinds.unsignedVerified) + failingIn(counts),
    handled: of(kinds.handled),
    held: of(kinds.held) + of(kinds.unsignedHeld) + of(kinds.withoutTokenHeld),
    rejected: of(kinds.rejected),
    dead: of(kinds.dead),
  };
}

/** Counts of requests, as the inbox gives them. */
export function requestCounts(counts: CountsByKind = []): RequestCounts {
  const numbers = Object.entries(requestKinds).map(([name, kind]) => [name, counts[kind] ?? 0]);
  return Object.fromEntries(numbers);
}

/** The backlog of one receiver: its stored deliveries and the `pending` ones, on their way to the file. */
export function backlogOf(stored: CountsByKind = [], pending: CountsByKind = []): Backlog {
  const of = (kind: number): number => (stored[kind] ?? 0) + (pending[kind] ?? 0);
  const unverified = of(kinds.received) + of(kinds.withoutToken);
  const unsignedWaiting = of(kinds.unsignedVerified) + of(kinds.unsignedFailing);
  return {
    waiting:
      unverified +
      of(kinds.deprioritized) +
      of(kinds.verified) +
      of(kinds.failing) +
      unsignedWaiting,
    unverified,
    unsignedWaiting,
    unsignedHeld: of(kinds.unsignedHeld),
    withoutToken: of(kinds.withoutToken) + of(kinds.withoutTokenHeld),
  };
}
