import type { ReasonCode } from "@reporthook/core";
import { isUnsigned, parkedReasons } from "@reporthook/core/store";
import type { JobState } from "./job-state.ts";
import type { Place } from "./places.ts";

const stepMs = 10_000;

/** The priority of deprioritized deliveries: served last. */
export const lowestPriority = 2_097_151;

/** The priority in the queue `verify`: newest first, in steps of 10 seconds. It starts over after 240 days. */
function verifyPriority(arrivedAt: number, lowPriority: boolean): number {
  return lowPriority
    ? lowestPriority
    : lowestPriority - 1 - (Math.floor(arrivedAt / stepMs) % (lowestPriority - 1));
}

/** The priority of unsigned deliveries: handled after those without a priority, and counted by it. */
export const unsignedPriority = 1;

/** The priority of each reason: parked deliveries are counted, listed and released by it. */
export const parkedPriorities: ReadonlyMap<ReasonCode, number> = new Map(
  parkedReasons.map((code, index) => [code, index + 1]),
);

/** The priority that a delivery has in a queue. */
export function priorityIn(place: Place, { stored }: JobState): number {
  if (place === "verify") return verifyPriority(stored.arrivedAt, stored.lastTurnAt !== null);
  if (place === "handle") {
    // In order of arrival, unsigned ones last.
    return isUnsigned(stored) ? unsignedPriority : 0;
  }
  // Without a priority, they are separate from all that have one.
  if (stored.state === "handled") return 0;
  return parkedPriorities.get(stored.reason?.code as ReasonCode) ?? parkedPriorities.size;
}
