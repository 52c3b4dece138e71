import type { Arrival, Backlog, NewDelivery, ReasonCounts, State } from "@reporthook/core";
import {
  isFailing,
  isParked,
  isUnsigned,
  parkedReasons,
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
  "state" | "lastTurnAt" | "verification" | "released" | "context" | "reason" | "attempts"
>;

/** The names of the counts that a delivery may be in, beside that of its state. */
const subsets = ["unverified", "unsignedWaiting", "withoutToken", "failing"] as const;
const names: readonly string[] = [
  ...states,
  ...subsets,
  ...parkedReasons.map((code) => `parked:${code}`),
];
const bits = new Map(names.map((name, at) => [name, 1 << at]));
const bitOf = (name: State | (typeof subsets)[number] | `parked:${string}`): number =>
  bits.get(name) ?? 0;

/** The kind of most new deliveries. */
export const usualKind: number = bitOf("received") | bitOf("unverified");

/** The counts that a delivery is in, as bits of a number: a text would have to cross between the threads with each. */
export function kindOf(stored: Countable): number {
  const { state, lastTurnAt, context, reason } = stored;
  const unverified = state === "received" && lastTurnAt === null;
  let kind = unverified ? usualKind : bitOf(state);
  if (state === "verified" && isUnsigned(stored)) kind |= bitOf("unsignedWaiting");
  if (context === withoutToken && (unverified || state === "held")) kind |= bitOf("withoutToken");
  if (isFailing(stored)) kind |= bitOf("failing");
  if (isParked(state) && reason !== null) kind |= bitOf(`parked:${reason.code}`);
  return kind;
}

const namesByKind = new Map<number, readonly string[]>();

/** The names of the counts that deliveries of a kind are in. */
export function namesOf(kind: number): readonly string[] {
  const known = namesByKind.get(kind);
  if (known !== undefined) return known;
  const found = names.filter((_name, at) => (kind & (1 << at)) !== 0);
  namesByKind.set(kind, found);
  return found;
}

/** Whether a new delivery is of that kind, and nothing is known of it. */
export function isUsual({ context }: NewDelivery, arrival: Arrival): boolean {
  const isNew = arrival.to === "received" && arrival.retryState === undefined;
  return isNew && context !== withoutToken;
}

/** Adds to the counts with these names, under a key. */
export function countIn<Key>(
  all: Map<Key, Record<string, number>>,
  key: Key,
  counted: readonly string[],
  by: number,
): void {
  const known = all.get(key);
  const tally = known ?? {};
  if (known === undefined) all.set(key, tally);
  for (const name of counted) tally[name] = (tally[name] ?? 0) + by;
}

/** The counts with these names, which stand below a prefix. */
export function countsIn<Name extends string>(
  tally: Tally,
  counted: readonly Name[],
  prefix = "",
): Record<Name, number> {
  const numbers = counted.map((name) => [name, tally[prefix + name] ?? 0]);
  return Object.fromEntries(numbers);
}

/** The deliveries that are parked, or were when they were deleted, by reason: of those that have any. */
export function byReason(tally: Tally, what: "parked" | "deleted"): ReasonCounts {
  const numbers = Object.entries(countsIn(tally, parkedReasons, `${what}:`));
  return Object.fromEntries(numbers.filter(([, number]) => number !== 0));
}

/** The backlog of one receiver: its stored deliveries and the `pending` ones, on their way to the file. */
export function backlogOf(stored: Tally = {}, pending: Tally = {}): Backlog {
  const both = (one = 0, other = 0): number => one + other;
  // Read before every body: a name in a variable would take several times as long to look up.
  return {
    waiting:
      both(stored["received"], pending["received"]) + both(stored["verified"], pending["verified"]),
    unverified: both(stored["unverified"], pending["unverified"]),
    unsignedWaiting: both(stored["unsignedWaiting"], pending["unsignedWaiting"]),
    unsignedHeld: both(stored["parked:unsigned"], pending["parked:unsigned"]),
    withoutToken: both(stored["withoutToken"], pending["withoutToken"]),
  };
}
