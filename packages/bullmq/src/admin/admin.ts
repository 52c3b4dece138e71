import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type ReasonCode, type ReleaseQuery, ReporthookError } from "@reporthook/core";
import {
  assertParked,
  assertReleasable,
  isParked,
  notFound,
  notWaiting,
  reopen,
} from "@reporthook/core/store";
import { type BacklogMeter, backlogShareOf, noBacklog } from "../process/backlog.ts";
import { isLost, nextHop } from "../process/settle.ts";
import { dataOf, type JobState } from "../queues/job-state.ts";
import {
  type DeliveryJob,
  type Found,
  type Place,
  parkedQueues,
  placeOf,
  type ReceiverQueues,
} from "../queues/queues.ts";
import { forget, idsFor } from "./parked.ts";

/** Delay before the work on a released delivery; it ends early once the delivery is no longer parked. */
const releaseMs = 5_000;
/** A delivery may still be in its old queue right after it was parked: number of checks, and milliseconds between them. */
const [maxLooks, lookMs] = [50, 20];

/** Releases the deliveries of a query; resolves to their number. */
export async function release(
  queues: ReceiverQueues,
  meter: BacklogMeter,
  query: ReleaseQuery,
): Promise<number> {
  if ("reason" in query) return releaseAll(queues, meter, query.reason, query.now);
  const id = "retry" in query ? query.retry : query.id;
  const found = await queues.find(id);
  if (found === null) throw notFound(id);
  if ("retry" in query) await retry(found, query.now);
  else if (!(await isRun(queues, meter, found, query.now))) throw releasedMeanwhile(id);
  return 1;
}

async function releaseAll(
  queues: ReceiverQueues,
  meter: BacklogMeter,
  reason: ReasonCode,
  now: number,
): Promise<number> {
  let released = 0;
  for (const place of parkedQueues) {
    // All ids are collected first: a delivery that is parked again meanwhile does not run twice.
    for (const id of await idsFor(queues, place, reason)) {
      const found = await queues.find(id);
      if (found?.place !== place || found.jobState.stored.reason?.code !== reason) continue;
      if (await isRun(queues, meter, found, now)) released++;
    }
  }
  return released;
}

/** Releases one delivery; resolves to false if another process has meanwhile. */
async function isRun(
  queues: ReceiverQueues,
  meter: BacklogMeter,
  { jobState, job, place, state }: Found,
  now: number,
): Promise<boolean> {
  const { stored } = jobState;
  assertReleasable(stored);
  return meter.change(async (change) => {
    const before = backlogShareOf(stored);
    reopen(stored, now);
    const isOurs = isParked(state)
      ? await isTakenOff(queues, place, jobState)
      : await isRetried(queues, place, job, jobState);
    if (isOurs) change(before, backlogShareOf(stored));
    return isOurs;
  });
}

/** Checks once more: a delivery that has begun since has recorded that. */
async function isRetried(
  queues: ReceiverQueues,
  place: Place,
  job: DeliveryJob,
  jobState: JobState,
): Promise<boolean> {
  const there = await queues.look(place, jobState.stored.id);
  if (there?.state !== "handled") return false;
  jobState.stalls = job.stalledCounter;
  try {
    await queues.of(place).backend.updateData(job, dataOf(jobState));
    await job.retry("completed");
    return true;
  } catch (error) {
    if (isLost(error)) return false;
    throw error;
  }
}

/** Ignores that another process retried it, or has begun. */
function unlessLost(error: unknown): void {
  if (!isLost(error)) throw error;
}

function releasedMeanwhile(id: string): ReporthookError {
  return new ReporthookError("not_releasable", `Delivery ${id} has just been released by another`);
}

/**
 * Adds the delivery to its next queue, then removes it from the parked ones, unless another process released it or may have
 * begun: that process removes it. The parked queue may hold it again by now. Resolves to false if another process released it.
 */
async function isTakenOff(
  queues: ReceiverQueues,
  shelf: Place,
  jobState: JobState,
): Promise<boolean> {
  const { id } = jobState.stored;
  const next = placeOf(jobState.stored);
  const released = { ...nextHop(jobState), nonce: randomUUID() };
  let [began, added] = [0, null as Found | null];
  for (let looks = 0; looks < maxLooks; looks++) {
    if (looks > 0) await setTimeout(lookMs);
    began = performance.now();
    await queues.add(released, releaseMs);
    added = await queues.look(next, id);
    // The job from before it was parked kept this one out; the process that parked it removes that job.
    const isKeptOut =
      added === null
        ? (await queues.look(shelf, id))?.jobState.hop === jobState.hop
        : added.jobState.hop < released.hop;
    if (!isKeptOut) break;
  }
  if (added !== null && added.jobState.nonce !== released.nonce) return false;
  if (added === null || performance.now() - began > releaseMs / 2) return true;
  await queues.of(shelf).remove(id);
  await queues.of(next).backend.promote(id).catch(unlessLost);
  return true;
}

async function retry(found: Found, now: number): Promise<void> {
  const { jobState, job } = found;
  const { stored } = jobState;
  if (stored.dueAt <= now || !(await job.isDelayed())) {
    throw notWaiting(stored.id);
  }
  // Not in its data: it may have been taken up meanwhile.
  await job.updateProgress(stored.changedAt).catch(unlessLost);
  await job.promote().catch((error: unknown) => {
    throw isLost(error) ? notWaiting(stored.id) : error;
  });
}

/** Deletes a parked delivery; if it is released and discarded at the same time, the release wins. */
export async function discard(
  queues: ReceiverQueues,
  meter: BacklogMeter,
  found: Found,
): Promise<void> {
  const { jobState, state } = found;
  const { stored } = jobState;
  assertParked({ id: stored.id, state });
  await meter.change(async (change) => {
    const there = await queues.find(stored.id);
    if (there === null) throw notFound(stored.id);
    assertParked(there.jobState.stored);
    await forget(queues, found);
    const released = await queues.find(stored.id);
    if (released !== null) assertParked(released.jobState.stored);
    change(backlogShareOf(stored), noBacklog);
  });
}
