import { withoutToken } from "../callback-urls/callback-url.ts";
import type { Backlog } from "./inbox.ts";
import type { StoredDelivery } from "./stored-delivery.ts";

/** An empty backlog. */
export const noBacklog: Backlog = {
  waiting: 0,
  unverified: 0,
  unsignedWaiting: 0,
  unsignedHeld: 0,
  withoutToken: 0,
};

/** The share of one delivery in the backlog. */
export function backlogShareOf({
  state,
  lowPriority,
  verification,
  context,
}: Pick<StoredDelivery, "state" | "lowPriority" | "verification" | "context">): Backlog {
  const unsigned = verification === "unsigned";
  const unverified = state === "received" && !lowPriority;
  return {
    waiting: state === "received" || state === "verified" ? 1 : 0,
    unverified: unverified ? 1 : 0,
    unsignedWaiting: state === "verified" && unsigned ? 1 : 0,
    unsignedHeld: state === "held" && unsigned ? 1 : 0,
    withoutToken: context === withoutToken && (unverified || state === "held") ? 1 : 0,
  };
}

/** One backlog with another one added to it `times` times. */
export function sumOfBacklogs(one: Backlog, other: Backlog, times: 1 | -1): Backlog {
  return {
    waiting: one.waiting + times * other.waiting,
    unverified: one.unverified + times * other.unverified,
    unsignedWaiting: one.unsignedWaiting + times * other.unsignedWaiting,
    unsignedHeld: one.unsignedHeld + times * other.unsignedHeld,
    withoutToken: one.withoutToken + times * other.withoutToken,
  };
}
