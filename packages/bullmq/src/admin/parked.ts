import type { ReasonCode } from "@reporthook/core";
import type { Found } from "../queues/found.ts";
import { type Place, parkedQueues } from "../queues/places.ts";
import { parkedPriorities } from "../queues/priority.ts";
import type { ReceiverQueues } from "../queues/queues.ts";

/** The deliveries that are parked in a queue for a reason. */
interface ParkedGroup {
  readonly place: Place;
  readonly reason: ReasonCode;
  readonly count: number;
}

/** How many are parked in each queue for each reason, if any is. */
export async function parkedGroups(queues: ReceiverQueues): Promise<ParkedGroup[]> {
  const counting = parkedQueues.map(async (place) => {
    const counts = await queues.of(place).getCountsPerPriority([...parkedPriorities.values()]);
    return [...parkedPriorities].map(([reason, priority]) => {
      return { place, reason, count: counts[priority] ?? 0 };
    });
  });
  return (await Promise.all(counting)).flat().filter(({ count }) => count > 0);
}

/** The delivery at an index of a group, the oldest first; null if it has left meanwhile. */
export async function parkedAt(
  queues: ReceiverQueues,
  { place, reason }: Pick<ParkedGroup, "place" | "reason">,
  index: number,
): Promise<Found | null> {
  const [id] = await idsFor(queues, place, reason, index, 1);
  return id === undefined ? null : queues.findIn(place, id);
}

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
