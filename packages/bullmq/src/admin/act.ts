import type { ActQuery, ActStep } from "@reporthook/core";
import { ActCount, idRange, isParked, statesOf } from "@reporthook/core/store";
import type { BacklogMeter } from "../process/backlog.ts";
import { parkedQueues, type ReceiverQueues } from "../queues/queues.ts";
import { askOn, type Session } from "../queues/session.ts";
import { actOnOne } from "./act-on-one.ts";
import { idsFor } from "./parked.ts";
import { assertSearchable, eachId } from "./query.ts";

/** The deliveries of one step: each takes several round trips to the server. */
const actedAtOnce = 50;

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
  const log = open.acts.begin(query);
  for (let from = 0; from < found.length; from += actedAtOnce) {
    const step = new ActCount();
    const failures: unknown[] = [];
    const take = async (): Promise<ActStep> => {
      const acting = found.slice(from, from + actedAtOnce).map(async ([queues, id]) => {
        const one = await actOnOne(queues, meterOf, id, query);
        if (one !== null) step.add(one);
      });
      // One that fails must not keep the others from being counted.
      await Promise.all(acting.map((one) => one.catch((error) => failures.push(error))));
      return step;
    };
    await askOn<unknown>(open, () => (query.dryRun === true ? take() : log(take)));
    yield step;
    if (failures.length > 0) throw failures[0];
  }
}

function byId([, one]: readonly [unknown, string], [, other]: readonly [unknown, string]): number {
  return one < other ? -1 : 1;
}
