import type { Outcome, ReasonCode } from "@reporthook/core";
import { dayMs, maxUnsigned } from "@reporthook/core/store";
import { dataOf, type JobData, type JobState, resultOf } from "../queues/job-state.ts";
import { type DeliveryJob, placeOf, priorityIn, type ReceiverQueues } from "../queues/queues.ts";
import { completeJob } from "../server/jobs.ts";

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

/** How a job is settled. */
interface SettleOptions {
  readonly handledMs: number;
  /** What the job is to carry before it is completed: its verdict, when that was not recorded. */
  readonly verdict?: JobData | null;
  /** Whether to take up the next job of the queue, locked with the same token. */
  readonly fetchNext?: boolean;
}

/**
 * Makes lasting what became of the work, after `record` has changed what is carried; resolves to the next job, if it was
 * asked for and there is one. May be called again when it rejects: what was done already is done once.
 */
export async function settle(
  queues: ReceiverQueues,
  held: LockedJob,
  outcome: Outcome["to"],
  { handledMs, verdict = null, fetchNext = false }: SettleOptions,
): Promise<DeliveryJob | undefined> {
  const { place, job, token, jobState } = held;
  const { kept } = jobState;
  const { backend } = queues.of(place);
  const id = job.id as string;
  const now = Date.now();
  const delay = outcome === "retry" ? Math.max(0, kept.dueAt - now) : 0;
  if (outcome === "retry" && placeOf(kept) === place) {
    jobState.stalls = job.stalledCounter;
    await backend.updateData(job, dataOf(jobState));
    const priority = priorityIn(place, jobState);
    if (priority !== job.priority) await backend.changePriority(id, priority);
    await backend.moveToDelayed(id, now, delay, token, { skipAttempt: true });
    return undefined;
  }
  if (outcome === "handled" && placeOf(kept) === "handle") {
    const keep = { age: Math.ceil(handledMs / 1_000) };
    const result = resultOf(kept);
    return completeJob(queues.of(place), job, { result, keep, token, fetchNext, data: verdict });
  }
  if (outcome === "rejected") {
    await backend.updateData(job, dataOf(jobState));
    const keep = { age: dayMs / 1_000, count: maxRejected };
    const code: ReasonCode = kept.reason?.code ?? "invalid_signature";
    await backend.moveToFailed(job, code, keep, token, false, { failedReason: code });
    return undefined;
  }
  // In the next queue before it leaves this one: a crash between the two leaves it in both, never in none.
  await queues.add(nextHop(jobState), delay);
  if (placeOf(kept) === "unsigned") await bound(queues, outcome);
  return removeFromQueue(queues, held, fetchNext);
}

/** Deletes the oldest beyond as many as are kept of what came without a signature and was handled, or is dead. */
async function bound(queues: ReceiverQueues, outcome: Outcome["to"]): Promise<void> {
  const queue = queues.of("unsigned");
  const type = outcome === "handled" ? "wait" : "prioritized";
  const beyond = await queue.getRanges([type], maxUnsigned, maxUnsigned + atOnce - 1, false);
  await Promise.all(beyond.map((id) => queue.remove(id)));
}

/** Takes a job out of its queue, because its delivery has gone on to another. */
export function removeFromQueue(
  queues: ReceiverQueues,
  held: Omit<LockedJob, "jobState">,
  fetchNext = false,
): Promise<DeliveryJob | undefined> {
  const { place, job, token } = held;
  const gone = { result: "gone on", keep: true, data: null } as const;
  return completeJob(queues.of(place), job, { ...gone, token, fetchNext });
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
