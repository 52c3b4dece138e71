import { isUnsigned, type StoredDelivery } from "@reporthook/core/store";

/**
 * The queues of a receiver: one for each stage, one for each parked state, and one for handled and dead unsigned deliveries, of
 * which fewer are kept.
 */
export type Place = "verify" | "handle" | "held" | "dead" | "unsigned";

/** All queues, in the order of a delivery's way. */
export const places: readonly Place[] = ["verify", "handle", "held", "dead", "unsigned"];

/** The queues of parked deliveries, which no worker consumes. */
export const parkedQueues = ["held", "dead", "unsigned"] as const;

/** BullMQ's types of waiting and running jobs. */
export const unfinished = ["wait", "prioritized", "delayed", "active"] as const;

/**
 * The names of a receiver's queues, for BullMQ's own tools: `prefix` is the option of the inbox.
 *
 * @example queueNames("reports").map((name) => new BullMQAdapter(new Queue(name, { connection })));
 */
export function queueNames(receiver: string, prefix = "reporthook"): readonly string[] {
  return places.map((place) => `${prefix}-${receiver}-${place}`);
}

/** The queue of a delivery. */
export function placeOf(stored: StoredDelivery): Place {
  const { state } = stored;
  if (isUnsigned(stored) && (state === "handled" || state === "dead")) return "unsigned";
  if (state === "held" || state === "dead") return state;
  return state === "received" ? "verify" : "handle";
}
