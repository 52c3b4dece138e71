import type { Stage } from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";
import type { Value } from "../database/driver.ts";

/** The values of the column `queue`, by stage. */
export const queues = {
  // Ranked by when they come due, by receipt, by when they came due, by their owner's number.
  verify: { later: 0, first: 1, yielding: 2, leased: 6 },
  // Ranked by when they come due, and by their owner's number.
  handle: { later: 3, first: 4, yielding: 5, leased: 7 },
} as const;

/** That a delivery waits. */
export interface Waiting {
  readonly stage: Stage;
  /** Or it comes due later. */
  readonly isDue: boolean;
  readonly rank: number;
}

/** What the columns `queue` and `rank` say; null at the end of the way. */
export function waitingIn(queue: Value | undefined, rank: Value | undefined): Waiting | null {
  if (typeof queue !== "number" || queue >= queues.verify.leased) return null;
  const stage = queue < queues.handle.later ? "verify" : "handle";
  return { stage, isDue: queue !== queues[stage].later, rank: Number(rank) };
}

/** In which queue a delivery waits, and at which place; null at the end of its way. */
export function placeOf(
  { state, receivedAt, dueAt, giveWay }: Kept,
  now: number,
): { readonly queue: number | null; readonly rank: number | null } {
  if (state !== "received" && state !== "verified") return { queue: null, rank: null };
  const of = queues[state === "received" ? "verify" : "handle"];
  if (dueAt > now) return { queue: of.later, rank: dueAt };
  return {
    queue: giveWay ? of.yielding : of.first,
    rank: state === "received" && !giveWay ? receivedAt : dueAt,
  };
}
