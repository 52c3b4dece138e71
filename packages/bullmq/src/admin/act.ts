import type { ActQuery, ActStep } from "@reporthook/core";
import {
  ActCount,
  DeletedCounts,
  idRange,
  isParked,
  type StoredDelivery,
  selectorOf,
  statesOf,
} from "@reporthook/core/store";
import type { BacklogMeter } from "../process/backlog.ts";
import type { ActInSteps } from "../queues/acts.ts";
import { parkedQueues, type ReceiverQueues } from "../queues/queues.ts";
import { askOn, type Session } from "../queues/session.ts";
import { actOnFound } from "./admin.ts";
import { idsFor } from "./parked.ts";
import { assertSearchable, eachId } from "./query.ts";

/** The deliveries of one step: each takes several round trips to the server. */
const actedAtOnce = 50;

/** The parts of a delivery by which an act counts it. */
export type Acted = Pick<StoredDelivery, "receiver" | "reason" | "state" | "changedAt">;

/** The deliveries that an act may concern, in the order of their ids. All are collected first: none is met twice. */
async function candidatesOf(
  all: readonly ReceiverQueues[],
  query: ActQuery,
): Promise<(readonly [ReceiverQueues, string])[]> {
  const { id, reason, from } = query;
  if (id !== undefined) return all.map((queues) => [queues, id] as const);
  const states = statesOf(query);
  assertSearchable(query, states);
  const { first, below } = idRange(query);
  const found = new Map<string, ReceiverQueues>();
  for (const queues of all) {
    const add = (one: string): void => {
      if (one >= first && one < below) found.set(one, queues);
    };
    // Only parked ones have a reason.
    if (reason !== undefined && states.some(isParked)) {
      for (const place of parkedQueues) (await idsFor(queues, place, reason)).forEach(add);
    } else {
      for (const state of states) await eachId(queues, state, add, () => from?.getTime() ?? 0);
    }
  }
  return [...found].map(([one, queues]) => [queues, one] as const).sort(byId);
}

/** Carries out an act step by step. Its end may come at any time. */
export async function* actInSteps(
  session: Session,
  meterOf: (receiver: string) => BacklogMeter,
  query: ActQuery,
): AsyncGenerator<ActStep> {
  const open = await session.open();
  const found = await askOn(open, async ({ receivers }) =>
    candidatesOf(await receivers.some(query.receiver), query),
  );
  const act: ActInSteps = { query, done: new ActCount(), job: null };
  for (let from = 0; from < found.length; from += actedAtOnce) {
    const step = new ActCount();
    const deleted = new DeletedCounts();
    const some = found.slice(from, from + actedAtOnce);
    const take = async (): Promise<ActStep> => {
      const acting = some.map(([queues, id]) => actOnOne(queues, meterOf, id, query));
      for (const one of await Promise.all(acting)) {
        if (one === null) continue;
        step.add(one);
        if (query.act === "discard" && !query.dryRun) deleted.add(one);
      }
      return step;
    };
    await askOn<unknown>(open, async ({ acts, receivers }) => {
      if (query.dryRun === true) await take();
      else await acts.log(act, take);
      for (const one of deleted.receivers()) await receivers.countDeleted(one, deleted.of(one));
    });
    yield step;
  }
}

/** Acts on one delivery, if it is as the query says at this moment; resolves to it as it was, or null. */
export async function actOnOne(
  queues: ReceiverQueues,
  meterOf: (receiver: string) => BacklogMeter,
  id: string,
  query: ActQuery,
): Promise<Acted | null> {
  const isSelected = selectorOf(query);
  const found = await queues.find(id);
  if (found === null || !isSelected(found.jobState.stored)) return null;
  const { reason, state, changedAt, receiver } = found.jobState.stored;
  const acting = { queues, meter: meterOf(receiver), found, isSelected };
  const isDone = query.dryRun === true || (await actOnFound(acting, query));
  return isDone ? { receiver, reason, state, changedAt } : null;
}

function byId([, one]: readonly [unknown, string], [, other]: readonly [unknown, string]): number {
  return one < other ? -1 : 1;
}
