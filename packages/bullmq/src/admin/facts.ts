import type { Facts, ParkedFact, State } from "@reporthook/core";
import {
  comparedErrors,
  expiringOf,
  isUnsigned,
  mostFrequent,
  type Retention,
  timeOf,
} from "@reporthook/core/store";
import { foundIn } from "../queues/found.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import type { Receivers } from "../queues/receivers.ts";
import { ByState } from "./by-state.ts";
import { isUnannounced, parkedShelves } from "./shelf.ts";

/** The facts of a receiver. Of those whose handlers failed, it knows the ones that are not due yet. */
export async function queueFacts(receivers: Receivers, receiver: string): Promise<Facts> {
  const queues = receivers.queuesOf(receiver);
  const byState = new ByState(queues);
  const arrivalOf = async (state: State): Promise<number> => {
    const id = await byState.oldest(state);
    const found = id === null ? null : await queues.find(id);
    return found?.jobState.stored.arrivedAt ?? Number.POSITIVE_INFINITY;
  };
  const retention = await receivers.retention();
  const [counts, unverified, verified, newest, parked, failing] = await Promise.all([
    byState.counts(),
    arrivalOf("received"),
    arrivalOf("verified"),
    byState.newest(),
    parkedFacts(queues, retention),
    failingOf(queues),
  ]);
  // After those that are parked: of one that is neither there nor counted nobody knows that it was deleted.
  const deleted = await queues.deleted();
  const waiting = Math.min(unverified, verified);
  return {
    counts,
    newest: newest === null ? null : timeOf(newest),
    oldestUnverified: Number.isFinite(unverified) ? unverified : null,
    oldestWaiting: Number.isFinite(waiting) ? waiting : null,
    ...parked,
    deleted,
    failing,
  };
}

/** The parked deliveries by reason, and those that will be deleted. */
async function parkedFacts(
  queues: ReceiverQueues,
  retention: Retention,
): Promise<Pick<Facts, "parked" | "expiring">> {
  const facts = new Map<ParkedFact["reason"], ParkedFact>();
  let expiring = 0;
  let first: { readonly changedAt: number; readonly announcedAt: number } | null = null;
  for (const { shelf, reason, count } of await parkedShelves(queues)) {
    const stored = (await shelf.at(0))?.jobState.stored;
    if (stored === undefined) continue;
    const { changedAt, announcedAt } = stored;
    const { count: others = 0, since = changedAt } = facts.get(reason) ?? {};
    facts.set(reason, { reason, count: others + count, since: Math.min(since, changedAt) });
    if (announcedAt === null || isUnsigned(stored)) continue;
    expiring += await shelf.indexOf(isUnannounced);
    if (first === null || changedAt < first.changedAt) first = { changedAt, announcedAt };
  }
  return {
    parked: [...facts.values()],
    expiring: first === null ? null : expiringOf(expiring, first, retention),
  };
}

async function failingOf(queues: ReceiverQueues): Promise<Facts["failing"]> {
  const queue = queues.of("handle");
  const count = await queue.getJobCountByTypes("delayed");
  if (count === 0) return null;
  const jobs = await queue.getJobs(["delayed"], 0, comparedErrors - 1);
  const errors = jobs.map((job) => (job && foundIn("handle", job).jobState.stored.lastError) ?? "");
  return { count, error: mostFrequent(errors) };
}
