import type { ReasonCode, Verification } from "@reporthook/core";
import { parkedReasons } from "@reporthook/core/store";

const maxPriority = 2_097_151;
const stepMs = 10_000;

/** The priority of deprioritized deliveries: served last. */
export const lowestPriority: number = maxPriority;

/** The priority in the queue `verify`: newest first, in steps of 10 seconds. It starts over after 240 days. */
export function verifyPriority(arrivedAt: number, lowPriority: boolean): number {
  return lowPriority
    ? lowestPriority
    : lowestPriority - 1 - (Math.floor(arrivedAt / stepMs) % (lowestPriority - 1));
}

/** The priority of unsigned deliveries: handled after those without a priority, and counted by it. */
export const unsignedPriority = 1;

/** The priority in the queue `handle`: in order of arrival, unsigned ones last. */
export function handlePriority(verification: Verification | null): number {
  return verification === "unsigned" ? unsignedPriority : 0;
}

/** The priority of each reason: parked deliveries are counted, listed and released by it. */
export const parkedPriorities: ReadonlyMap<ReasonCode, number> = new Map(
  parkedReasons.map((code, index) => [code, index + 1]),
);
