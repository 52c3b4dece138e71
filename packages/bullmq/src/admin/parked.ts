import type { ReasonCode } from "@reporthook/core";
import { parkedPriorities } from "../queues/priority.ts";
import type { Found, Place, ReceiverQueues } from "../queues/queues.ts";

/** Deletes a delivery. First the key: a crash in between would otherwise drop its copy. */
export async function forget(
  queues: ReceiverQueues,
  { jobState, job, place }: Found,
): Promise<void> {
  const { key, stored, hop } = jobState;
  const verify = queues.of("verify");
  if (key !== null && (await verify.getDeduplicationJobId(key)) === stored.id) {
    await verify.removeDeduplicationKey(key);
  }
  // It may be left by a crash, or released meanwhile.
  for (const stage of ["verify", "handle"] as const) {
    const left = await queues.findIn(stage, stored.id);
    if (left !== null && left.jobState.hop <= hop) await queues.of(stage).remove(stored.id);
  }
  await queues.of(place).remove(job.id as string);
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
