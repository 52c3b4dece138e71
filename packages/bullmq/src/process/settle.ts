import type { Outcome, ReasonCode } from "@reporthook/core";
import { dayMs, maxUnsigned } from "@reporthook/core/store";
import { dataOf, type JobState, resultOf } from "../queues/job-state.ts";
import { type DeliveryJob, placeOf, priorityIn, type ReceiverQueues } from "../queues/queues.ts";

/** A job in the hands of this process: its lock is held with the token. */
export interface LockedJob {
  readonly place: "verify" | "handle";
  readonly job: DeliveryJob;
  readonly token: string;
  readonly jobState: JobState;
}

const maxRejected = 10_000;
const atOnce = 100;
// BullMQ's own: no such job, no lock, not active, another's lock.
const lostCodes: readonly unknown[] = [-1, -2, -3, -6];

/** The lock of a job is another's by now. */
export class LockLost extends Error {}

/** Whether it says that the lock is no longer ours. */
export function isLost(error: unknown): boolean {
  if (error instanceof LockLost) return true;
  return lostCodes.includes((error as { readonly code?: unknown } | null)?.code);
}

/**
 * Makes lasting what became of the work, after `record` has changed what is carried. May be called again when it
 * rejects: what was done already is done once.
 */
export async function settle(
  queues: ReceiverQueues,
  held: LockedJob,
  outcome: Outcome["to"],
  handledMs: number,
): Promise<void> {
  const { place, job, token, jobState } = held;
  const { kept } = jobState;
  const { backend } = queues.of(place);
  const id = job.id as string;
  if (outcome === "retry") {
    jobState.stalls = job.stalledCounter;
    await backend.updateData(job, dataOf(jobState));
    const priority = priorityIn(place, jobState);
    if (priority !== job.priority) await backend.changePriority(id, priority);
    const now = Date.now();
    await backend.moveToDelayed(id, now, Math.max(0, kept.dueAt - now), token, {
      skipAttempt: true,
    });
  } else if (outcome === "handled" && placeOf(kept) === "handle") {
    const keep = { age: Math.ceil(handledMs / 1_000) };
    await backend.moveToCompleted(job, resultOf(kept), keep, token, false);
  } else if (outcome === "rejected") {
    await backend.updateData(job, dataOf(jobState));
    const keep = { age: dayMs / 1_000, count: maxRejected };
    const code: ReasonCode = kept.reason?.code ?? "invalid_signature";
    await backend.moveToFailed(job, code, keep, token, false, { failedReason: code });
  } else {
    // In the next queue before it leaves this one: a crash between the two leaves it in both, never in none.
    await queues.add(nextHop(jobState));
    if (placeOf(kept) === "unsigned") await bound(queues, outcome);
    await removeFromQueue(queues, held);
  }
}

/** Deletes the oldest beyond as many as are kept of what came without a signature and was handled, or is dead. */
async function bound(queues: ReceiverQueues, outcome: Outcome["to"]): Promise<void> {
  const queue = queues.of("unsigned");
  const type = outcome === "handled" ? "wait" : "prioritized";
  const beyond = await queue.getRanges([type], maxUnsigned, maxUnsigned + atOnce - 1, false);
  await Promise.all(beyond.map((id) => queue.remove(id)));
}

/** Takes a job out of its queue, because its delivery has gone on to another. */
export async function removeFromQueue(
  queues: ReceiverQueues,
  { place, job, token }: Omit<LockedJob, "jobState">,
): Promise<void> {
  await queues.of(place).backend.moveToCompleted(job, "gone on", true, token, false);
}

/** What the next queue is given. */
export function nextHop(jobState: JobState): JobState {
  return { ...jobState, hop: jobState.hop + 1, stalls: 0, nonce: undefined };
}

/** Gives back what was only just taken up. */
export async function requeueJob(
  queues: ReceiverQueues,
  stage: LockedJob["place"],
  job: DeliveryJob,
  token: string,
): Promise<void> {
  await queues.of(stage).backend.moveJobFromActiveToWait(job.id as string, token);
}
