import type { ActQuery } from "@reporthook/core";
import {
  ActCount,
  idRange,
  isParked,
  type StoredDelivery,
  selectorOf,
  statesOf,
} from "@reporthook/core/store";
import type { BacklogMeter } from "../process/backlog.ts";
import { parkedQueues, type ReceiverQueues } from "../queues/queues.ts";
import { actOnFound } from "./admin.ts";
import { idsFor } from "./parked.ts";
import { assertSearchable, eachId } from "./query.ts";

/** The parts of a delivery by which an act counts it. */
export type Acted = Pick<StoredDelivery, "reason" | "state" | "changedAt">;

/** The deliveries that an act may concern, in the order of their ids. All are collected first: none is met twice. */
export async function candidatesOf(
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

/** Each takes several round trips to the server. */
const actedAtOnce = 50;

/** The deliveries of an act, step by step. */
export function* stepsOf<T>(found: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < found.length; from += actedAtOnce) {
    yield found.slice(from, from + actedAtOnce);
  }
}

/** Acts on the deliveries of one step; resolves to those that were as the query says. */
export async function actOnSome(
  some: readonly (readonly [ReceiverQueues, string])[],
  meterOf: (receiver: string) => BacklogMeter,
  query: ActQuery,
): Promise<ActCount> {
  const step = new ActCount();
  const acted = some.map(([queues, id]) => actOnOne(queues, meterOf, id, query));
  for (const one of await Promise.all(acted)) if (one !== null) step.add(one);
  return step;
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
  return isDone ? { reason, state, changedAt } : null;
}

function byId([, one]: readonly [unknown, string], [, other]: readonly [unknown, string]): number {
  return one < other ? -1 : 1;
}
