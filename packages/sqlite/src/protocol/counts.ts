import type {
  Arrival,
  Backlog,
  Counts,
  NewDelivery,
  RequestCounts,
  State,
  Verification,
} from "@reporthook/core";
import { states, withoutToken } from "@reporthook/core/store";

/** The counted kinds of deliveries: the six states, and five subsets with separate counts. */
const kinds = {
  received: states.indexOf("received"),
  verified: states.indexOf("verified"),
  lowPriority: 6,
  unsignedVerified: 7,
  unsignedHeld: 8,
  withoutToken: 10,
  withoutTokenHeld: 11,
} as const;

/** The kind of all deliveries ever stored: its sum over all receivers is the last number. */
export const everKind = 9;
/** The id of the receiver with which they are counted, whosever they are: the first in the file. */
export const everReceiver = 1;

/** The kinds of requests, in the order of their states. */
export const requestKinds: readonly number[] = [12, 13, 14, 15];
/** The kind of requests that are overdue. */
export const overdueKind = 16;

/** Counts of deliveries and requests, at the index of their kind. */
export type CountsByKind = readonly number[];

/** Counts of receivers, by name. */
export type ReceiverCounts = ReadonlyMap<string, CountsByKind>;

/** No delivery of any kind. */
const zeroCountsByKind: CountsByKind = new Array<number>(17).fill(0);

/** The counts under a key, which are added if needed. */
export function countsIn<Key>(map: Map<Key, number[]>, key: Key): number[] {
  let counts = map.get(key);
  if (counts === undefined) {
    counts = [...zeroCountsByKind];
    map.set(key, counts);
  }
  return counts;
}

/** The parts of a delivery that decide its kind. */
export interface Countable {
  readonly state: State;
  readonly lowPriority: boolean;
  readonly verification: Verification | null;
  readonly context: string | null;
}

/** The kind that a delivery is counted as. */
export function kindOf({ state, lowPriority, verification, context }: Countable): number {
  const unsigned = verification === "unsigned";
  if (state === "received" && lowPriority) return kinds.lowPriority;
  if (state === "received" && context === withoutToken) return kinds.withoutToken;
  if (state === "held" && context === withoutToken) return kinds.withoutTokenHeld;
  if (state === "verified" && unsigned) return kinds.unsignedVerified;
  if (state === "held" && unsigned) return kinds.unsignedHeld;
  return states.indexOf(state);
}

/** Whether a new delivery is like most: of the kind `received`, and nothing is known of it. */
export function isUsual({ context }: NewDelivery, arrival: Arrival): boolean {
  const isNew = arrival.to === "received" && arrival.retryState === undefined;
  return isNew && context !== withoutToken;
}

/** The sum of counts, kind by kind. */
export function sumOfCounts(all: Iterable<CountsByKind>): CountsByKind {
  const sum = [...zeroCountsByKind];
  for (const counts of all) {
    for (const [kind, count] of counts.entries()) sum[kind] = (sum[kind] ?? 0) + count;
  }
  return sum;
}

/** Counts by state, as the inbox gives them. */
export function countsByState(counts: CountsByKind = zeroCountsByKind): Counts {
  const of = (kind: number): number => counts[kind] ?? 0;
  const [received, verified, handled, held, rejected, dead] = states.map((_, kind) => of(kind));
  return {
    received: (received ?? 0) + of(kinds.lowPriority) + of(kinds.withoutToken),
    verified: (verified ?? 0) + of(kinds.unsignedVerified),
    handled: handled ?? 0,
    held: (held ?? 0) + of(kinds.unsignedHeld) + of(kinds.withoutTokenHeld),
    rejected: rejected ?? 0,
    dead: dead ?? 0,
  };
}

/** Counts of requests, as the inbox gives them. */
export function requestCounts(counts: CountsByKind = zeroCountsByKind): RequestCounts {
  const of = (kind = 0): number => counts[kind] ?? 0;
  const [unconfirmed, open, complete, internal_error] = requestKinds;
  return {
    unconfirmed: of(unconfirmed),
    open: of(open),
    complete: of(complete),
    internal_error: of(internal_error),
    overdue: of(overdueKind),
  };
}

/** The backlog of one receiver: its stored deliveries and the `pending` ones, on their way to the file. */
export function backlogOf(
  stored: CountsByKind = zeroCountsByKind,
  pending: CountsByKind = zeroCountsByKind,
): Backlog {
  const of = (kind: number): number => (stored[kind] ?? 0) + (pending[kind] ?? 0);
  const unverified = of(kinds.received) + of(kinds.withoutToken);
  const unsignedWaiting = of(kinds.unsignedVerified);
  return {
    waiting: unverified + of(kinds.lowPriority) + of(kinds.verified) + unsignedWaiting,
    unverified,
    unsignedWaiting,
    unsignedHeld: of(kinds.unsignedHeld),
    withoutToken: of(kinds.withoutToken) + of(kinds.withoutTokenHeld),
  };
}
