import type { Stage } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import type { Value } from "../database/driver.ts";

/** The values of the column `queue`, by stage: see the schema for the rank in each. */
export const queues = {
  verify: { later: 0, first: 1, inTurn: 2, leased: 5 },
  handle: { later: 3, first: 4, leased: 6 },
} as const;

/** The columns `queue` and `rank`, which order deliveries of one receiver; null at the end of the way. */
export interface QueuePosition {
  readonly queue: number | null;
  readonly rank: number | null;
}

/** A delivery that waits for a stage. */
export interface Queued {
  readonly stage: Stage;
  /** Null when it is due now. */
  readonly dueAt: number | null;
}

/** Whether a value of the column `queue` says that a worker has the delivery. */
export function isLeased(queue: Value | undefined): boolean {
  return typeof queue === "number" && queue >= queues.verify.leased;
}

/** The position of a delivery without a lease. */
export function positionOf(
  { state, arrivedAt, dueAt, lastTurnAt }: StoredDelivery,
  now: number,
): QueuePosition {
  if (state !== "received" && state !== "verified") return { queue: null, rank: null };
  const { later, first } = queues[state === "received" ? "verify" : "handle"];
  if (dueAt > now) return { queue: later, rank: dueAt };
  if (state === "verified") return { queue: first, rank: dueAt };
  if (lastTurnAt === null) return { queue: first, rank: arrivedAt };
  return { queue: queues.verify.inTurn, rank: lastTurnAt };
}
