import type { State } from "@reporthook/core";
import {
  dayMs,
  isUnsigned,
  type PruneCount,
  type Retention,
  retentionStep,
  type StoredDelivery,
} from "@reporthook/core/store";
import { isLost } from "../process/settle.ts";
import { type DeliveryJob, type Found, foundIn } from "../queues/found.ts";
import { dataOf } from "../queues/job-state.ts";
import { type Place, parkedQueues } from "../queues/places.ts";
import { parkedPriorities } from "../queues/priority.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import { idsFor } from "./parked.ts";

const atOnce = 100;

/** How to prune. */
export interface Pruning {
  readonly retention: Retention;
  readonly now: number;
  /** Counts what is deleted and announced. */
  readonly pruned: PruneCount;
  /** Called for parked ones whose record was lost. */
  readonly tellLost: (id: string) => void;
}

/** Deletes deliveries whose retention is over, and announces the end of parked ones. */
export async function prune(queues: ReceiverQueues, pruning: Pruning): Promise<void> {
  for (const { place, type, state, keptMs } of endedKinds(pruning.retention)) {
    const number = await pruneEnded(queues, place, type, pruning.now - keptMs);
    if (number > 0) pruning.pruned.delete({ state, reason: null }, false, number);
  }
  for (const shelf of shelvesOf(queues)) {
    const waits = (await walk(shelf, 0, pruning)) === "announced";
    // Announced ones come first.
    if (waits) await walk(shelf, await indexIn(shelf, isUnannounced), pruning);
  }
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

/** Counts what {@link prune} would do. */
export async function foresee(queues: ReceiverQueues, pruning: Pruning): Promise<void> {
  const { pruned, retention, now } = pruning;
  for (const { place, type, state, keptMs } of endedKinds(retention)) {
    const queue = queues.of(place);
    const isKept = async (index: number): Promise<boolean> => {
      const [id] = await queue.getRanges([type], index, index, true);
      const job = id === undefined ? undefined : await queue.getJob(id);
      return job !== undefined && foundIn(place, job).jobState.stored.changedAt >= now - keptMs;
    };
    const number = await firstIndex(await queue.getJobCountByTypes(type), isKept);
    if (number > 0) pruned.delete({ state, reason: null }, false, number);
  }
  for (const shelf of shelvesOf(queues)) {
    const first = (await shelf.at(0))?.jobState.stored;
    if (first === undefined) continue;
    const stepOf = (stored: StoredDelivery) => retentionStep(stored, retention, now);
    const kept = await indexIn(shelf, (stored) => stepOf(stored) !== "delete");
    if (kept > 0) pruned.delete(first, !isUnsigned(first), kept);
    const from = await indexIn(shelf, isUnannounced);
    const isLater = (stored: StoredDelivery): boolean =>
      isUnannounced(stored) && stepOf(stored) === "keep";
    const number = (await indexIn(shelf, isLater)) - from;
    if (number > 0 && !isUnsigned(first)) pruned.announce(first, number);
  }
}

/** The kinds that have ended in their queue. */
function endedKinds({ handledMs }: Retention) {
  // With a job of `verify` its dedupe key would go.
  const verifiedMs = Math.max(handledMs, dayMs);
  const handled = { type: "completed", state: "handled" as State } as const;
  const rejected = { type: "failed", state: "rejected" as State, keptMs: dayMs } as const;
  return [
    { place: "handle", ...handled, keptMs: handledMs },
    { place: "verify", ...handled, keptMs: verifiedMs },
    { place: "verify", ...rejected },
    { place: "handle", ...rejected },
  ] as const;
}

/** A delivery that is kept as it is: its end was announced or not. */
type Kept = "new" | "announced";

/** Whether its end was not announced. */
export function isUnannounced({ announcedAt }: Pick<StoredDelivery, "announcedAt">): boolean {
  return announcedAt === null;
}

/** The deliveries of one kind in a queue, the oldest first. */
export interface Shelf {
  readonly queues: ReceiverQueues;
  readonly place: Place;
  readonly priority: number;
  ids(from: number, most: number): Promise<string[]>;
  at(index: number): Promise<Found | null>;
  count(): Promise<number>;
}

/** The shelves of a receiver. */
export function shelvesOf(queues: ReceiverQueues): Shelf[] {
  const shelf = (place: Place, priority: number, ids: Shelf["ids"]): Shelf => ({
    queues,
    place,
    priority,
    ids,
    async at(index) {
      const [id] = await ids(index, 1);
      return id === undefined ? null : queues.findIn(place, id);
    },
    async count() {
      if (priority === 0) return queues.of(place).getJobCountByTypes("wait");
      return (await queues.of(place).getCountsPerPriority([priority]))[priority] ?? 0;
    },
  });
  const parked = parkedQueues.flatMap((place) =>
    [...parkedPriorities].map(([reason, priority]) =>
      shelf(place, priority, (from, most) => idsFor(queues, place, reason, from, most)),
    ),
  );
  // Handled ones that came without a signature have no priority.
  const handled = shelf("unsigned", 0, (from, most) =>
    queues.of("unsigned").getRanges(["wait"], from, from + most - 1, true),
  );
  return [...parked, handled];
}

/** Deletes and announces from an index on; resolves to the first delivery for which neither is due, or null. */
async function walk(shelf: Shelf, from: number, pruning: Pruning): Promise<Kept | null> {
  for (let index = from; ; ) {
    const ids = await shelf.ids(index, atOnce);
    for (const id of ids) {
      const end = await step(shelf, id, pruning);
      if (end === "new" || end === "announced") return end;
      if (end === "there") index++;
    }
    if (ids.length < atOnce) return null;
  }
}

/** Does the next step of retention with a delivery: then it is gone, or still there; or it is kept as it was. */
async function step(
  { queues, place, priority }: Shelf,
  id: string,
  { retention, now, pruned, tellLost }: Pruning,
): Promise<"gone" | "there" | Kept> {
  const queue = queues.of(place);
  const job = await queue.getJob(id);
  if (job === undefined) {
    // Others may release or discard some meanwhile, which moves the places of the rest.
    if ((await queue.getJobState(id)) === "unknown") return "gone";
    if ((await queue.remove(id)) === 0) return "there";
    tellLost(id);
    return "gone";
  }
  const found = foundIn(place, job);
  const { stored } = found.jobState;
  const next = job.priority === priority ? retentionStep(stored, retention, now) : "keep";
  if (next === "keep") return isUnannounced(stored) ? "new" : "announced";
  if (next === "delete") {
    // One that was just released is there until its work begins.
    if (!(await queues.delete(found))) return "there";
    pruned.delete(stored, stored.announcedAt !== null);
    return "gone";
  }
  stored.announcedAt = now;
  try {
    await queue.backend.updateData(job, dataOf(found.jobState));
    pruned.announce(stored);
  } catch (error) {
    if (!isLost(error)) throw error;
  }
  return "there";
}

/** The index of the first delivery of a shelf for which something holds, if it holds for all after it; else their number. */
export async function indexIn(
  shelf: Shelf,
  holds: (stored: StoredDelivery) => boolean,
): Promise<number> {
  const holdsAt = async (index: number): Promise<boolean> => {
    const found = await shelf.at(index);
    return found !== null && holds(found.jobState.stored);
  };
  return firstIndex(await shelf.count(), holdsAt);
}

async function firstIndex(
  count: number,
  holds: (index: number) => Promise<boolean>,
): Promise<number> {
  let [from, to] = [0, count];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (await holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
