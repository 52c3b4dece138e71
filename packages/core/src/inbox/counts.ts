import { withoutToken } from "../callback-urls/callback-url.ts";
import type { ReasonCode, State } from "./delivery.ts";
import { isUnsigned, type StoredDelivery } from "./stored-delivery.ts";

/** Number of deliveries by state. */
export type Counts = Readonly<Record<State, number>>;

/** Counts of nothing, to be counted up. */
export function zeroCounts(): Record<State, number> {
  return { received: 0, verified: 0, handled: 0, held: 0, rejected: 0, dead: 0 };
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

/** The number of entries by reason; by state where they have no reason. */
export type ReasonCounts = Readonly<ReasonTally>;

/** {@link ReasonCounts}, to be counted up. */
export type ReasonTally = Partial<Record<ReasonCode | State, number>>;

/** The parts of a delivery by which it is counted. */
export interface Counted {
  readonly state: State;
  readonly reason: { readonly code: ReasonCode } | null;
}

/** Adds so many deliveries that are alike, by their reason. */
export function countReason(
  counts: ReasonTally,
  { reason, state }: Counted,
  number: number = 1,
): void {
  const key = reason?.code ?? state;
  counts[key] = (counts[key] ?? 0) + number;
}

/** The number of unfinished deliveries: exact for changes of this process, at most a second old for others. */
export interface Backlog {
  /** `received` and `verified`. */
  readonly waiting: number;
  /** `received`, without deprioritized ones. */
  readonly unverified: number;
  /** `verified` without a signature, and never released. */
  readonly unsignedWaiting: number;
  /** `held` for want of a signature. */
  readonly unsignedHeld: number;
  /** Without the token that is required: `held` ones, and `received` ones that are not deprioritized. */
  readonly withoutToken: number;
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
  stored: StoredDelivery,
  by: 1 | -1,
): void {
  const { state, lastTurnAt, reason, context } = stored;
  const unverified = state === "received" && lastTurnAt === null;
  if (state === "received" || state === "verified") backlog.waiting += by;
  if (unverified) backlog.unverified += by;
  if (state === "verified" && isUnsigned(stored)) backlog.unsignedWaiting += by;
  if (state === "held" && reason?.code === "unsigned") backlog.unsignedHeld += by;
  if (context === withoutToken && (unverified || state === "held")) backlog.withoutToken += by;
}
