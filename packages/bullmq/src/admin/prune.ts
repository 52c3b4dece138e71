import { dayMs, type Retention } from "@reporthook/core/store";
import { parkedPriorities } from "../queues/priority.ts";
import {
  type DeliveryJob,
  type Found,
  foundIn,
  type Place,
  parkedQueues,
  type ReceiverQueues,
} from "../queues/queues.ts";
import { forget, idsFor } from "./parked.ts";

const atOnce = 100;

/**
 * Deletes deliveries whose retention is over; calls `tellLost` for parked ones whose record was lost. Resolves to their number.
 */
export async function prune(
  queues: ReceiverQueues,
  { handledMs, parkedMs }: Retention,
  now: number,
  tellLost: (id: string) => void,
): Promise<number> {
  const ended = await Promise.all([
    pruneEnded(queues, "handle", "completed", now - handledMs),
    // Its dedupe key would go with it.
    pruneEnded(queues, "verify", "completed", now - Math.max(handledMs, dayMs)),
    pruneEnded(queues, "verify", "failed", now - dayMs),
    pruneEnded(queues, "handle", "failed", now - dayMs),
  ]);
  let pruned = ended.reduce((sum, count) => sum + count, 0);
  for (const place of parkedQueues) {
    for (const [reason, priority] of parkedPriorities) {
      const keptMs = place === "unsigned" || reason === "unsigned" ? dayMs : parkedMs;
      const oldest = () => idsFor(queues, place, reason, atOnce);
      // Others may release or discard some meanwhile, which moves the places of the rest.
      const isOver = ({ job, jobState }: Found) =>
        job.priority === priority && jobState.stored.changedAt < now - keptMs;
      pruned += await pruneOldest(queues, place, oldest, isOver, tellLost);
    }
  }
  const tests = () => queues.of("unsigned").getRanges(["wait"], 0, atOnce - 1, true);
  const isOver = ({ jobState }: Found) => jobState.stored.changedAt < now - dayMs;
  return pruned + (await pruneOldest(queues, "unsigned", tests, isOver, () => {}));
}

/** Deletes the oldest ended jobs that changed before a moment; BullMQ itself would go by the wall clock. */
async function pruneEnded(
  queues: ReceiverQueues,
  place: Place,
  type: "completed" | "failed",
  before: number,
): Promise<number> {
  const queue = queues.of(place);
  let pruned = 0;
  for (;;) {
    const ids = await queue.getRanges([type], 0, atOnce - 1, true);
    const jobs = await Promise.all(ids.map((id) => queue.getJob(id)));
    const isKept = (job: DeliveryJob | undefined): boolean =>
      job !== undefined && foundIn(place, job).jobState.stored.changedAt >= before;
    const kept = jobs.findIndex(isKept);
    const over = kept < 0 ? ids : ids.slice(0, kept);
    await Promise.all(over.map((id) => queue.remove(id)));
    pruned += over.length;
    if (over.length < atOnce) return pruned;
  }
}

/** Prunes oldest first, and stops at the first delivery whose retention is not over. */
async function pruneOldest(
  queues: ReceiverQueues,
  place: Place,
  oldest: () => Promise<readonly string[]>,
  isOver: (found: Found) => boolean,
  tellLost: (id: string) => void,
): Promise<number> {
  let pruned = 0;
  for (;;) {
    const ids = await oldest();
    const before = pruned;
    for (const id of ids) {
      const job = await queues.of(place).getJob(id);
      const found = job === undefined ? null : foundIn(place, job);
      if (found !== null && !isOver(found)) return pruned;
      if (found !== null) await forget(queues, found);
      else if (await isRemoved(queues.of(place), id)) tellLost(id);
      else continue;
      pruned++;
    }
    if (ids.length < atOnce || pruned === before) return pruned;
  }
}

/** Removes the id of a job that was lost; resolves to false if somebody has just deleted both. */
async function isRemoved(queue: ReturnType<ReceiverQueues["of"]>, id: string): Promise<boolean> {
  if ((await queue.getJobState(id)) === "unknown") return false;
  return (await queue.remove(id)) > 0;
}
