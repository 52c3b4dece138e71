import type { ReasonCode } from "@reporthook/core";
import { parkedPriorities } from "../queues/priority.ts";
import type { Place, ReceiverQueues } from "../queues/queues.ts";

/** The ids of deliveries parked for a reason, the oldest first: at most so many, from an index on. */
export async function idsFor(
  queues: ReceiverQueues,
  place: Place,
  reason: ReasonCode,
  from = 0,
  most: number = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const queue = queues.of(place);
  const counts = await queue.getCountsPerPriority([...parkedPriorities.values()]);
  const priority = parkedPriorities.get(reason) ?? 0;
  const count = Math.min((counts[priority] ?? 0) - from, most);
  if (count <= 0) return [];
  let before = from;
  for (const other of parkedPriorities.values()) {
    if (other < priority) before += counts[other] ?? 0;
  }
  return queue.getRanges(["prioritized"], before, before + count - 1, true);
}
