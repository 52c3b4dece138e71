import type { ActQuery, ActStep } from "@reporthook/core";
import { ActCount, statesOf } from "@reporthook/core/store";
import type { BacklogMeter } from "../process/backlog.ts";
import type { ActJob } from "../queues/acts.ts";
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
  const done = new ActCount();
  let logged: ActJob | null = null;
  for (let from = 0; from < found.length; from += actedAtOnce) {
    const step = new ActCount();
    const failures: unknown[] = [];
    await open.ask(async ({ acts }) => {
      // Before the step, so that the act is known if that is its end.
      if (query.dryRun !== true) logged ??= await acts.add(query);
      const acting = found.slice(from, from + actedAtOnce).map(async ([id, queues]) => {
        const one = await actOnOne(queues, meterOf, id, query);
        if (one !== null) step.add(one);
      });
      // One that fails must not keep the others from being counted.
      await Promise.all(acting.map((one) => one.catch((error) => failures.push(error))));
      done.addStep(step);
      if (logged !== null) logged = await acts.keepCount(logged, done.total);
    });
    yield step;
    if (failures.length > 0) throw open.connection.explained(failures[0]);
  }
}
