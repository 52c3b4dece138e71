import type { Outcome, ReasonCode } from "@reporthook/core";
import { dayMs, mostUnsigned } from "@reporthook/core/store";
import { type Carried, dataOf, resultOf } from "../queues/job-state.ts";
import { type DeliveryJob, placeOf, priorityIn, type ReceiverQueues } from "../queues/queues.ts";

/** A job in the hands of this process: its lock is held with the token. */
export interface Held {
  readonly place: "verify" | "handle";
  readonly job: DeliveryJob;
  readonly token: string;
  readonly carried: Carried;
}

const mostRejected = 10_000;
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
  held: Held,
  outcome: Outcome["to"],
  handledMs: number,
): Promise<void> {
  const { place, job, token, carried } = held;
  const { kept } = carried;
  const { backend } = queues.of(place);
  const id = job.id as string;
  if (outcome === "again") {
    carried.losses = job.stalledCounter;
    await backend.updateData(job, dataOf(carried));
    const priority = priorityIn(place, carried);
    if (priority !== job.priority) await backend.changePriority(id, priority);
    const now = Date.now();
    await backend.moveToDelayed(id, now, Math.max(0, kept.dueAt - now), token, {
      skipAttempt: true,
    });
  } else if (outcome === "handled" && placeOf(kept) === "handle") {
    const keep = { age: Math.ceil(handledMs / 1_000) };
    await backend.moveToCompleted(job, resultOf(kept), keep, token, false);
  } else if (outcome === "rejected") {
    await backend.updateData(job, dataOf(carried));
    const keep = { age: dayMs / 1_000, count: mostRejected };
    const code: ReasonCode = kept.reason?.code ?? "invalid_signature";
    await backend.moveToFailed(job, code, keep, token, false, { failedReason: code });
  } else {
    // In the next queue before it leaves this one: a crash between the two leaves it in both, never in none.
    await queues.add(goneOn(carried));
    if (placeOf(kept) === "unsigned") await bound(queues, outcome);
    await leave(queues, held);
  }
}

/** Deletes the oldest beyond as many as are kept of what came without a signature and was handled, or is dead. */
async function bound(queues: ReceiverQueues, outcome: Outcome["to"]): Promise<void> {
  const queue = queues.of("unsigned");
  const type = outcome === "handled" ? "wait" : "prioritized";
  const beyond = await queue.getRanges([type], mostUnsigned, mostUnsigned + atOnce - 1, false);
  await Promise.all(beyond.map((id) => queue.remove(id)));
}

/** Takes a job out of its queue, because its delivery has gone on to another. */
export async function leave(
  queues: ReceiverQueues,
  { place, job, token }: Omit<Held, "carried">,
): Promise<void> {
  await queues.of(place).backend.moveToCompleted(job, "gone on", true, token, false);
}

/** What the next queue is given. */
export function goneOn(carried: Carried): Carried {
  return { ...carried, step: carried.step + 1, losses: 0, nonce: undefined };
}

/** Gives back what was only just taken up. */
export async function putBack(
  queues: ReceiverQueues,
  stage: Held["place"],
  job: DeliveryJob,
  token: string,
): Promise<void> {
  await queues.of(stage).backend.moveJobFromActiveToWait(job.id as string, token);
}
