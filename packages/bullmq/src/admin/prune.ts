import type { Pruned, State } from "@reporthook/core";
import {
  dayMs,
  isUnsigned,
  PruneCount,
  type Retention,
  retentionStep,
  type StoredDelivery,
} from "@reporthook/core/store";
import { bullmqMessages } from "../log-messages.ts";
import { isLost } from "../process/settle.ts";
import { type DeliveryJob, foundIn } from "../queues/found.ts";
import { dataOf } from "../queues/job-state.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import type { OpenSession } from "../queues/session.ts";
import type { RedisRequests } from "../requests/redis-requests.ts";
import type { BullmqSettings } from "../server/settings.ts";
import { setsWith } from "./by-state.ts";
import { isUnannounced, parkedShelves, Shelf } from "./shelf.ts";

const atOnce = 100;

/** How to prune. */
interface Pruning {
  readonly retention: Retention;
  readonly now: number;
  /** Counts what is deleted and announced. */
  readonly pruned: PruneCount;
  /** Called for parked ones whose record was lost. */
  readonly tellLost: (id: string) => void;
}

/** Prunes the queues of all receivers by the retention that the server has; with `dryRun` it only counts. */
export async function pruneAll(
  open: OpenSession,
  { logger, address }: BullmqSettings,
  now: number,
  dryRun: boolean,
  requests: Pick<RedisRequests, "prune"> | undefined,
): Promise<Pruned> {
  const { connection, receivers } = open;
  const retention = await receivers.retention();
  const pruned = new PruneCount(retention);
  const tellLost = (id: string): void =>
    logger.warn({ inbox: address, id }, bullmqMessages.parkedLost);
  if (!dryRun) await receivers.registerAgain();
  for (const receiver of await receivers.names()) {
    const queues = receivers.queuesOf(receiver);
    if (!dryRun) await connection.forget(queues.of("verify").name, now);
    await (dryRun ? foresee : prune)(queues, { retention, now, pruned, tellLost });
  }
  if (!dryRun) await requests?.prune(open, retention, now);
  return pruned;
}

/** Deletes deliveries whose retention is over, and announces the end of parked ones. */
export async function prune(queues: ReceiverQueues, pruning: Pruning): Promise<void> {
  const parked = (await parkedShelves(queues)).map(({ shelf }) => shelf);
  for (const [state, shelf] of endedShelves(queues)) {
    // Handled ones without a signature are a thousand at most, and may be released.
    if (shelf.type === "wait") parked.push(shelf);
    else await pruneEnded(state, shelf, pruning);
  }
  for (const shelf of parked) {
    await walk(shelf, 0, pruning);
    await walk(shelf, await shelf.indexOf(isUnannounced), pruning);
  }
}

/** The deliveries that are handled or rejected. */
function endedShelves(queues: ReceiverQueues): (readonly [State, Shelf])[] {
  return (["handled", "rejected"] as const).flatMap((state) =>
    setsWith(state).map(([place, type]) => [state, new Shelf(queues, place, type)] as const),
  );
}

/** The step that is due with a delivery. */
function stepIn({ place }: Shelf, stored: StoredDelivery, { retention, now }: Pruning) {
  // With a handled job of `verify` its dedupe key would go.
  const leastMs = place === "verify" ? dayMs : 0;
  const handledMs = Math.max(retention.handledMs, leastMs);
  return retentionStep(stored, { ...retention, handledMs }, now);
}

/** Deletes the oldest ended jobs; BullMQ itself would go by the wall clock. */
async function pruneEnded(state: State, shelf: Shelf, pruning: Pruning): Promise<void> {
  const { queues, place } = shelf;
  const queue = queues.of(place);
  const isKept = (job: DeliveryJob | undefined): boolean =>
    job !== undefined && stepIn(shelf, foundIn(place, job).jobState.stored, pruning) === "keep";
  for (;;) {
    const ids = await shelf.ids(0, atOnce);
    const jobs = await Promise.all(ids.map((id) => queue.getJob(id)));
    const kept = jobs.findIndex(isKept);
    const over = kept < 0 ? ids : ids.slice(0, kept);
    await Promise.all(over.map((id) => queue.remove(id)));
    if (over.length > 0) pruning.pruned.delete({ state, reason: null }, false, over.length);
    if (over.length < atOnce) return;
  }
}

/** Counts what {@link prune} would do. */
async function foresee(queues: ReceiverQueues, pruning: Pruning): Promise<void> {
  const { pruned } = pruning;
  const overIn = (shelf: Shelf): Promise<number> =>
    shelf.indexOf((stored) => stepIn(shelf, stored, pruning) !== "delete");
  for (const [state, shelf] of endedShelves(queues)) {
    const over = await overIn(shelf);
    if (over > 0) pruned.delete({ state, reason: null }, false, over);
  }
  for (const { shelf } of await parkedShelves(queues)) {
    const first = (await shelf.at(0))?.jobState.stored;
    if (first === undefined) continue;
    const over = await overIn(shelf);
    if (over > 0) pruned.delete(first, !isUnsigned(first), over);
    const from = await shelf.indexOf(isUnannounced);
    const isLater = (stored: StoredDelivery): boolean =>
      isUnannounced(stored) && stepIn(shelf, stored, pruning) === "keep";
    const number = (await shelf.indexOf(isLater)) - from;
    if (number > 0 && !isUnsigned(first)) pruned.announce(first, number);
  }
}

/** Deletes and announces from an index on, up to the first for which neither is due. */
async function walk(shelf: Shelf, from: number, pruning: Pruning): Promise<void> {
  for (let index = from; ; ) {
    const ids = await shelf.ids(index, atOnce);
    for (const id of ids) {
      const end = await step(shelf, id, pruning);
      if (end === "kept") return;
      if (end === "there") index++;
    }
    if (ids.length < atOnce) return;
  }
}

/** Does the next step of retention with a delivery: then it is gone, or still there; or it is kept as it was. */
async function step(
  shelf: Shelf,
  id: string,
  pruning: Pruning,
): Promise<"gone" | "there" | "kept"> {
  const { queues, place, priority } = shelf;
  const queue = queues.of(place);
  const job = await queue.getJob(id);
  if (job === undefined) {
    // Others may release or discard some meanwhile, which moves the places of the rest.
    if ((await queue.getJobState(id)) === "unknown") return "gone";
    if ((await queue.remove(id)) === 0) return "there";
    pruning.tellLost(id);
    return "gone";
  }
  const found = foundIn(place, job);
  const { stored } = found.jobState;
  const next = job.priority === (priority ?? 0) ? stepIn(shelf, stored, pruning) : "keep";
  if (next === "keep") return "kept";
  if (next === "delete") {
    // One that was just released is there until its work begins.
    if (!(await queues.delete(found))) return "there";
    pruning.pruned.delete(stored, stored.announcedAt !== null);
    return "gone";
  }
  stored.announcedAt = pruning.now;
  try {
    await queue.backend.updateData(job, dataOf(found.jobState));
    pruning.pruned.announce(stored);
  } catch (error) {
    if (!isLost(error)) throw error;
  }
  return "there";
}
