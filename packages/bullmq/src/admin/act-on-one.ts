import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { ActQuery } from "@reporthook/core";
import { applyAct, type StoredDelivery, selectorOf } from "@reporthook/core/store";
import { type BacklogMeter, backlogShareOf, noBacklog } from "../process/backlog.ts";
import { isLost, nextHop } from "../process/settle.ts";
import type { Found } from "../queues/found.ts";
import { dataOf } from "../queues/job-state.ts";
import { placeOf } from "../queues/places.ts";
import type { ReceiverQueues } from "../queues/queues.ts";

/** Delay before the work on a released delivery; it ends early once the delivery is no longer parked. */
const releaseMs = 5_000;
/** A delivery may still be in its old queue right after it was parked: number of checks, and milliseconds between them. */
const [maxLooks, lookMs] = [50, 20];

/** A delivery to act on, as it was found. */
interface Acting {
  readonly queues: ReceiverQueues;
  readonly meter: BacklogMeter;
  readonly found: Found;
}

/** The parts of a delivery by which an act counts it. */
type Acted = Pick<StoredDelivery, "reason" | "state" | "changedAt">;

/** Acts on one delivery, if it is as the query says at this moment; resolves to it as it was, or null. */
export async function actOnOne(
  queues: ReceiverQueues,
  meterOf: (receiver: string) => BacklogMeter,
  id: string,
  query: ActQuery,
): Promise<Acted | null> {
  const found = await queues.find(id);
  if (found === null || !selectorOf(query)(found.jobState.stored)) return null;
  const { reason, state, changedAt, receiver } = found.jobState.stored;
  const acting = { queues, meter: meterOf(receiver), found };
  const isDone = query.dryRun === true || (await act(acting, query));
  return isDone ? { reason, state, changedAt } : null;
}

/** Acts on a delivery; resolves to false if it has changed meanwhile. */
function act(acting: Acting, query: ActQuery): Promise<boolean> {
  const isEnded = acting.found.jobState.stored.state === "rejected";
  if (query.act === "release" || isEnded) return reopen(acting, query);
  return query.act === "retry" ? hasten(acting, query) : discard(acting);
}

/** Brings a parked or an ended delivery back to its stage. */
function reopen({ queues, meter, found }: Acting, query: ActQuery): Promise<boolean> {
  const { jobState, place } = found;
  const { stored } = jobState;
  const was = { state: stored.state, changedAt: stored.changedAt };
  const hasEnded = place === "verify" || place === "handle";
  return meter.change(async (change) => {
    const before = backlogShareOf(stored);
    applyAct(stored, query);
    const isOurs = hasEnded ? await retryEnded(queues, found, was) : await takeOff(queues, found);
    if (isOurs) change(before, backlogShareOf(stored));
    return isOurs;
  });
}

/** Has an ended delivery wait again, if it still is as it `was`: one that has begun since has recorded that. */
async function retryEnded(
  queues: ReceiverQueues,
  { place, job, jobState }: Found,
  was: Pick<StoredDelivery, "state" | "changedAt">,
): Promise<boolean> {
  const there = (await queues.findIn(place, jobState.stored.id))?.jobState.stored;
  if (there?.state !== was.state || there.changedAt !== was.changedAt) return false;
  jobState.stalls = job.stalledCounter;
  try {
    await queues.of(place).backend.updateData(job, dataOf(jobState));
    await job.retry(was.state === "handled" ? "completed" : "failed");
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

/**
 * Adds the delivery to its next queue, then removes it from the parked ones, unless another process released it or may have
 * begun: that process removes it. The parked queue may hold it again by now. Resolves to false if another process released it, or
 * deleted it before it was removed.
 */
async function takeOff(queues: ReceiverQueues, found: Found): Promise<boolean> {
  const { jobState, place } = found;
  const { id } = jobState.stored;
  const next = placeOf(jobState.stored);
  const released = { ...nextHop(jobState), nonce: randomUUID() };
  let [began, added] = [0, null as Found | null];
  for (let looks = 0; looks < maxLooks; looks++) {
    if (looks > 0) await setTimeout(lookMs);
    began = performance.now();
    await queues.add(released, releaseMs);
    added = await queues.findIn(next, id);
    // The job from before it was parked kept this one out; the process that parked it removes that job.
    const isKeptOut =
      added === null
        ? (await queues.findIn(place, id))?.jobState.hop === jobState.hop
        : added.jobState.hop < released.hop;
    if (!isKeptOut) break;
  }
  if (added !== null && added.jobState.nonce !== released.nonce) return false;
  if (added === null || performance.now() - began > releaseMs / 2) return true;
  if (await queues.remove(found)) {
    await queues.of(next).backend.promote(id).catch(unlessLost);
    return true;
  }
  // Deleted meanwhile, unless a worker removed it: then that has begun.
  const isDeleted = await added.job.isDelayed();
  if (isDeleted) await queues.remove(added);
  return !isDeleted;
}

/** Has a delivery that waits for its next try tried at once. */
async function hasten({ queues, found }: Acting, query: ActQuery): Promise<boolean> {
  const { job, place } = found;
  if (!(await job.isDelayed())) return false;
  const began = performance.now();
  try {
    // Until it is promoted no worker takes it, and what is read of it now is the last that was recorded.
    await job.changeDelay(releaseMs);
    const there = await queues.findIn(place, job.id as string);
    if (there !== null) applyAct(there.jobState.stored, query);
    if (there !== null && performance.now() - began < releaseMs / 2) {
      await queues.of(place).backend.updateData(job, dataOf(there.jobState));
    }
    await job.promote();
    return true;
  } catch (error) {
    unlessLost(error);
    return false;
  }
}

/** Deletes a parked delivery; if it is released and discarded at the same time, the release wins. */
function discard({ queues, meter, found }: Acting): Promise<boolean> {
  return meter.change(async (change) => {
    const isGone = await queues.delete(found);
    if (isGone) change(backlogShareOf(found.jobState.stored), noBacklog);
    return isGone;
  });
}
