import type { ReasonCode, Verification } from "@reporthook/core";

const maxPriority = 2_097_151;
const stepMs = 10_000;

/** What gives way is served last. */
export const lowestPriority: number = maxPriority;

/** Of those to be verified: the newer, the sooner, in steps of 10 seconds. It begins again after 240 days. */
export function verifyPriority(receivedAt: number, lowPriority: boolean): number {
  return lowPriority
    ? lowestPriority
    : lowestPriority - 1 - (Math.floor(receivedAt / stepMs) % (lowestPriority - 1));
}

/** What anybody may have sent is handled after what has none, and counted by it. */
export const unsignedPriority = 1;

/** Of those to be handled: in the order in which they came, and the unsigned last. */
export function handlePriority(verification: Verification | null): number {
  return verification === "unsigned" ? unsignedPriority : 0;
}

// Never in another order: what is parked was put there by it.
const reasons: readonly ReasonCode[] = [
  ...(["unsigned", "expired", "reused_signature", "not_verified", "no_handler"] as const),
  ...(["invalid_signature", "not_understood", "schema_mismatch", "do_not_retry"] as const),
  ...(["attempts_used_up", "poison"] as const),
];

/** Those parked are counted, listed and released by reason: each has a priority of its own. */
export const parkedPriorities: ReadonlyMap<ReasonCode, number> = new Map(
  reasons.map((code, index) => [code, index + 1]),
);
