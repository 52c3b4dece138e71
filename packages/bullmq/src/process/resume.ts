import { parkedQueues } from "../queues/places.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import { type LockedJob, nextHop, removeFromQueue, settle } from "./settle.ts";

/** How often work on the job has ended a process since its last record. */
export function stallsOf({ job, jobState }: LockedJob): number {
  return job.stalledCounter - jobState.stalls;
}

/** Whether the delivery waits in this queue, and no earlier work on it may have to be ended. */
export function isFresh(held: LockedJob): boolean {
  return isHere(held) && stallsOf(held) === 0 && !isJustReleased(held);
}

/**
 * Ends work that another process had ended before it died, or lost its lock, and moves on what only has to go on. Resolves to
 * whether nothing is left to do in this queue.
 */
export async function resume(queues: ReceiverQueues, held: LockedJob): Promise<boolean> {
  const { jobState, job } = held;
  const found = await queues.find(job.id as string);
  const isFurther = found !== null && found.jobState.hop > jobState.hop;
  if (isFurther || !isHere(held)) {
    if (jobState.stored.state === "rejected") {
      await settle(queues, held, "rejected");
      return true;
    }
    if (!isFurther) await queues.add({ ...nextHop(jobState), stalls: -stallsOf(held) });
    await removeFromQueue(queues, held);
    return true;
  }
  // The process that released it may have died before it removed the parked job.
  if (isJustReleased(held)) {
    for (const parked of parkedQueues) await queues.of(parked).remove(job.id as string);
  }
  return false;
}

function isHere({ jobState, place }: LockedJob): boolean {
  return jobState.stored.state === (place === "verify" ? "received" : "verified");
}

function isJustReleased({ jobState }: LockedJob): boolean {
  const { released, attempts } = jobState.stored;
  return released && attempts === 0;
}
