import type { ActQuery, ActStep } from "@reporthook/core";
import { ActCount, statesOf } from "@reporthook/core/store";
import type { BacklogMeter } from "../process/backlog.ts";
import type { Session } from "../queues/session.ts";
import { actOnOne } from "./act-on-one.ts";
import { candidatesOf } from "./query.ts";

/** The deliveries of one step: each takes several round trips to the server. */
const actedAtOnce = 50;

/** Carries out an act step by step. Its end may come at any time. */
export async function* actInSteps(
  session: Session,
  meterOf: (receiver: string) => BacklogMeter,
  query: ActQuery,
): AsyncGenerator<ActStep> {
  const open = await session.open();
  const { id } = query;
  const found = await open.ask(async ({ receivers }) => {
    const all = await receivers.some(query.receiver);
    if (id !== undefined) return all.map((queues) => [id, queues] as const);
    return candidatesOf(all, query, statesOf(query));
  });
  const log = open.acts.begin(query);
  for (let from = 0; from < found.length; from += actedAtOnce) {
    const step = new ActCount();
    const failures: unknown[] = [];
    const take = async (): Promise<ActStep> => {
      const acting = found.slice(from, from + actedAtOnce).map(async ([id, queues]) => {
        const one = await actOnOne(queues, meterOf, id, query);
        if (one !== null) step.add(one);
      });
      // One that fails must not keep the others from being counted.
      await Promise.all(acting.map((one) => one.catch((error) => failures.push(error))));
      return step;
    };
    await open.ask<unknown>(() => (query.dryRun === true ? take() : log(take)));
    yield step;
    if (failures.length > 0) throw open.connection.explained(failures[0]);
  }
}
