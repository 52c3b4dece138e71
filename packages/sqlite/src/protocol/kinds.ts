import type { Counts, Load, State, Verification } from "@reporthook/core";
import { states } from "@reporthook/core/store";

/** The kinds that are counted: the six states, three parts of them that are counted apart, and {@link ever}. */
const kinds = {
  ...{ received: states.indexOf("received"), verified: states.indexOf("verified") },
  ...{ givingWay: 6, unsignedVerified: 7, unsignedHeld: 8 },
} as const;

/** The kind of all that ever came: over all receivers, the last number that was given. */
export const ever = 9;

const numberOfKinds = 10;

/** What of a delivery decides its kind. */
export interface Counted {
  readonly state: State;
  readonly giveWay: boolean;
  readonly verification: Verification | null;
}

/** As which kind a delivery is counted. */
export function kindOf({ state, giveWay, verification }: Counted): number {
  const unsigned = verification === "unsigned";
  if (state === "received" && giveWay) return kinds.givingWay;
  if (state === "verified" && unsigned) return kinds.unsignedVerified;
  if (state === "held" && unsigned) return kinds.unsignedHeld;
  return states.indexOf(state);
}

/** No delivery of any kind. */
export const none: readonly number[] = new Array<number>(numberOfKinds).fill(0);

/** How many of each state there are. */
export function countsOf(numbers: readonly number[] = none): Counts {
  const of = (kind: number): number => numbers[kind] ?? 0;
  const [received, verified, handled, held, rejected, dead] = states.map((_, kind) => of(kind));
  return {
    received: (received ?? 0) + of(kinds.givingWay),
    verified: (verified ?? 0) + of(kinds.unsignedVerified),
    handled: handled ?? 0,
    held: (held ?? 0) + of(kinds.unsignedHeld),
    rejected: rejected ?? 0,
    dead: dead ?? 0,
  };
}

/** How full the inbox is for a receiver: with `numbers` stored, and `pending` on their way to the file. */
export function loadOf(numbers: readonly number[] = none, pending: readonly number[] = none): Load {
  const of = (kind: number): number => (numbers[kind] ?? 0) + (pending[kind] ?? 0);
  const unverified = of(kinds.received);
  const unsignedWaiting = of(kinds.unsignedVerified);
  return {
    waiting: unverified + of(kinds.givingWay) + of(kinds.verified) + unsignedWaiting,
    unverified,
    unsignedWaiting,
    unsignedHeld: of(kinds.unsignedHeld),
  };
}
