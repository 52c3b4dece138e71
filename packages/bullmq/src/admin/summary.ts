import type { ReasonCode, State, Summary, SummaryQuery } from "@reporthook/core";
import { addCounts, idRange, minuteMs, states, timeOf, zeroCounts } from "@reporthook/core/store";
import type { ReceiverQueues } from "../queues/queues.ts";
import { ByState } from "./by-state.ts";
import { parkedShelves } from "./shelf.ts";

/** Summarizes queues. */
export async function summary(
  all: readonly ReceiverQueues[],
  query: SummaryQuery,
): Promise<Summary> {
  const parked: Partial<Record<ReasonCode, number>> = {};
  const newest: number[] = [];
  const oldest = Object.fromEntries(states.map((state) => [state, null])) as Record<
    State,
    Date | null
  >;
  const minutes = new Map<number, Record<State, number>>();
  const { first, below } = idRange({ from: query.from, until: query.until });
  for (const queues of all) {
    for (const { shelf, reason, count } of await parkedShelves(queues)) {
      addCounts(parked, { [reason]: count });
      const last = await shelf.at(count - 1);
      if (last !== null) newest.push(last.jobState.stored.changedAt);
    }
    const byState = new ByState(queues);
    for (const state of states) {
      const id = await byState.oldest(state);
      const date = id === null ? null : new Date(timeOf(id));
      if (date !== null && (oldest[state] === null || date < oldest[state])) oldest[state] = date;
      if (first >= below) continue;
      const count = (id: string): void => {
        if (id < first || id >= below) return;
        const at = Math.floor(timeOf(id) / minuteMs) * minuteMs;
        const counts = minutes.get(at) ?? zeroCounts();
        counts[state]++;
        minutes.set(at, counts);
      };
      await byState.eachId(state, count, () => query.from.getTime());
    }
  }
  const inOrder = [...minutes].sort(([one], [other]) => one - other);
  const shown = inOrder.map(([at, counts]) => ({ at: new Date(at), counts }));
  const parkedChangedAt = newest.length === 0 ? null : new Date(Math.max(...newest));
  return { parked, parkedChangedAt, oldest, minutes: shown };
}
