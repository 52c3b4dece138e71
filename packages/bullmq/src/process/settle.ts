import type { Outcome, ReasonCode, Stage } from "@reporthook/core";
import { dropContent, maxUnsigned, wholeRejected } from "@reporthook/core/store";
import type { DeliveryJob, Found } from "../queues/found.ts";
import { dataOf, type JobData, type JobState, resultOf } from "../queues/job-state.ts";
import { placeOf } from "../queues/places.ts";
import { priorityIn } from "../queues/priority.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import { completeJob } from "../server/jobs.ts";

/** A job that this process has locked with the token. */
export interface LockedJob extends Found {
  readonly place: Stage;
  readonly token: string;
}

const maxRejected = 10_000;
/** A rejected delivery with a longer body keeps none: their sum has a limit, and BullMQ can't add up. */
const maxWholeBytes = wholeRejected.bytes / wholeRejected.max;
/** Rejected deliveries that may be beyond the limit at once, as several workers reject. */
const looked = 16;
// BullMQ's codes: no such job, no lock, not active, another's lock.
const lostCodes: readonly unknown[] = [-1, -2, -3, -6];

/** Another process holds the lock of the job. */
export class LockLost extends Error {}

/** Whether an error means that this process lost the lock. */
export function isLost(error: unknown): boolean {
  if (error instanceof LockLost) return true;
  return lostCodes.includes((error as { readonly code?: unknown } | null)?.code);
}

/** How a job is settled. */
interface SettleOptions {
  /** The data to store before the completion: its verdict, if that was not recorded. */
  readonly verdict?: JobData | null;
  /** Whether to take up the next job of the queue, locked with the same token. */
  readonly fetchNext?: boolean;
  /** Whether an earlier try may have done some of the steps. */
  readonly isRepeated?: boolean;
}

/**
 * Records an outcome in the queues, after `applyOutcome` has changed the job's state; resolves to the next job, if requested and
 * available. Can be repeated after a rejection: steps that were done are not done twice.
 */
export async function settle(
  queues: ReceiverQueues,
  held: LockedJob,
  outcome: Outcome["to"],
  { verdict = null, fetchNext = false, isRepeated = false }: SettleOptions = {},
): Promise<DeliveryJob | undefined> {
  const { place, job, token, jobState } = held;
  const { stored } = jobState;
  const { backend } = queues.of(place);
  const id = job.id as string;
  const delay = outcome === "retry" ? Math.max(0, stored.dueAt - stored.changedAt) : 0;
  if (outcome === "retry" && placeOf(stored) === place) {
    jobState.stalls = job.stalledCounter;
    await backend.updateData(job, dataOf(jobState));
    const priority = priorityIn(place, jobState);
    if (priority !== job.priority) await backend.changePriority(id, priority);
    await putOff(queues, held, delay);
    return undefined;
  }
  if (outcome === "handled" && placeOf(stored) === "handle") {
    // Not by its age, which BullMQ reads off the wall clock: see prune().
    const keep = { count: -1 };
    const result = resultOf(stored);
    return completeJob(queues.of(place), job, { result, keep, token, fetchNext, data: verdict });
  }
  if (outcome === "rejected") {
    if ((stored.body?.byteLength ?? 0) > maxWholeBytes) dropContent(stored);
    await backend.updateData(job, dataOf(jobState));
    const keep = { count: maxRejected };
    const code: ReasonCode = stored.reason?.code ?? "invalid_signature";
    await backend.moveToFailed(job, code, keep, token, false, { failedReason: code });
    await boundRejected(queues, place);
    return undefined;
  }
  // It enters the next queue before it leaves this one: after a crash it is in both, never in none.
  const next = nextHop(jobState);
  // Another worker may have taken it through the next queue since.
  const isThere = isRepeated && ((await queues.find(id))?.jobState.hop ?? 0) >= next.hop;
  if (!isThere) await queues.add(next, delay);
  if (placeOf(stored) === "unsigned") await bound(queues, outcome);
  return removeFromQueue(queues, held, fetchNext);
}

/** Has a job wait for `delay` milliseconds in its queue. */
export async function putOff(
  queues: ReceiverQueues,
  { place, job, token }: LockedJob,
  delay: number,
): Promise<void> {
  const { backend } = queues.of(place);
  const id = job.id as string;
  await backend.moveToDelayed(id, Date.now(), delay, token, { skipAttempt: true });
}

/** Deletes the oldest handled or dead unsigned deliveries beyond the maximum; dead ones are in order of their reasons. */
async function bound(queues: ReceiverQueues, outcome: Outcome["to"]): Promise<void> {
  const queue = queues.of("unsigned");
  const type = outcome === "handled" ? "wait" : "prioritized";
  const [beyond] = await queue.getRanges([type], maxUnsigned, maxUnsigned, false);
  if (beyond === undefined) return;
  // Ids begin with the time of receipt.
  const ids = (await queue.getRanges([type], 0, -1)).sort().slice(0, -maxUnsigned);
  const found = await Promise.all(ids.map((id) => queues.findIn("unsigned", id)));
  await Promise.all(found.map((one) => one && queues.delete(one)));
}

/** Drops the content of the newest rejected deliveries beyond the maximum. */
async function boundRejected(queues: ReceiverQueues, place: Stage): Promise<void> {
  const queue = queues.of(place);
  const { max } = wholeRejected;
  const ids = await queue.getRanges(["failed"], max, max + looked - 1, false);
  const found = await Promise.all(ids.map((id) => queues.findIn(place, id)));
  for (const one of found) {
    if (one !== null && one.jobState.stored.body !== null) await queues.dropContent(one);
  }
}

/** Removes a job from its queue, because its delivery is in the next one. */
export function removeFromQueue(
  queues: ReceiverQueues,
  held: LockedJob,
  fetchNext = false,
): Promise<DeliveryJob | undefined> {
  const { place, job, token } = held;
  const gone = { result: "gone on", keep: true, data: null } as const;
  return completeJob(queues.of(place), job, { ...gone, token, fetchNext });
}

/** The state of a job in its next queue. */
export function nextHop(jobState: JobState): JobState {
  return { ...jobState, hop: jobState.hop + 1, stalls: 0, nonce: undefined };
}
