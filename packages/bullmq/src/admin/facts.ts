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
import { parkedAt, parkedGroups } from "./parked.ts";
import { indexIn, isUnannounced, shelvesOf } from "./prune.ts";

/** The facts of a receiver. Of those whose handlers failed, it knows the ones that are not due yet. */
export async function queueFacts(
  receivers: Receivers,
  receiver: string,
  given: Retention,
): Promise<Facts> {
  const queues = receivers.queuesOf(receiver);
  const byState = new ByState(queues);
  const arrivalOf = async (state: State): Promise<number> => {
    const id = await byState.oldest(state);
    const found = id === null ? null : await queues.find(id);
    return found?.jobState.stored.arrivedAt ?? Number.POSITIVE_INFINITY;
  };
  const retention = (await receivers.retention()) ?? given;
  const [counts, unverified, verified, newest, parked, announced, failing] = await Promise.all([
    byState.counts(),
    arrivalOf("received"),
    arrivalOf("verified"),
    byState.newest(),
    parkedFacts(queues),
    announcedOf(queues),
    failingOf(queues),
  ]);
  // After those that are parked: of one that is neither there nor counted nobody knows that it was deleted.
  const deleted = await queues.deleted();
  const waiting = Math.min(unverified, verified);
  const { count, first } = announced;
  return {
    counts,
    newest: newest === null ? null : timeOf(newest),
    oldestUnverified: Number.isFinite(unverified) ? unverified : null,
    oldestWaiting: Number.isFinite(waiting) ? waiting : null,
    parked,
    deleted,
    expiring: first === null ? null : expiringOf(count, first, retention),
    failing,
  };
}

async function parkedFacts(queues: ReceiverQueues): Promise<ParkedFact[]> {
  const facts = new Map<ParkedFact["reason"], ParkedFact>();
  for (const group of await parkedGroups(queues)) {
    const { reason } = group;
    const oldest = await parkedAt(queues, group, 0);
    if (oldest === null) continue;
    const { changedAt } = oldest.jobState.stored;
    const { count = 0, since = changedAt } = facts.get(reason) ?? {};
    facts.set(reason, { reason, count: count + group.count, since: Math.min(since, changedAt) });
  }
  return [...facts.values()];
}

async function failingOf(queues: ReceiverQueues): Promise<Facts["failing"]> {
  const queue = queues.of("handle");
  const count = await queue.getJobCountByTypes("delayed");
  if (count === 0) return null;
  const jobs = await queue.getJobs(["delayed"], 0, comparedErrors - 1);
  const errors = jobs.map((job) => (job && foundIn("handle", job).jobState.stored.lastError) ?? "");
  return { count, error: mostFrequent(errors) };
}

/** The number of parked ones whose end was announced, and the first of them. */
async function announcedOf(queues: ReceiverQueues): Promise<{
  readonly count: number;
  readonly first: { readonly changedAt: number; readonly announcedAt: number } | null;
}> {
  let count = 0;
  let first: { readonly changedAt: number; readonly announcedAt: number } | null = null;
  for (const shelf of shelvesOf(queues)) {
    const stored = (await shelf.at(0))?.jobState.stored;
    if (stored === undefined || stored.announcedAt === null || isUnsigned(stored)) continue;
    count += await indexIn(shelf, isUnannounced);
    const { changedAt, announcedAt } = stored;
    if (first === null || changedAt < first.changedAt) first = { changedAt, announcedAt };
  }
  return { count, first };
}
