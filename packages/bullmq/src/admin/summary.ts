import type { ReasonCode, State, Summary, SummaryQuery } from "@reporthook/core";
import { idRange, minuteMs, states, timeOf, zeroCounts } from "@reporthook/core/store";
import { parkedPriorities } from "../queues/priority.ts";
import { parkedQueues, type ReceiverQueues } from "../queues/queues.ts";
import { idsFor } from "./parked.ts";
import { eachId, oldestOf } from "./query.ts";

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
    newest.push(...(await addParked(queues, parked)));
    for (const state of states) {
      const id = await oldestOf(queues, state);
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
      await eachId(queues, state, count, () => query.from.getTime());
    }
  }
  const inOrder = [...minutes].sort(([one], [other]) => one - other);
  const shown = inOrder.map(([at, counts]) => ({ at: new Date(at), counts }));
  const parkedChangedAt = newest.length === 0 ? null : new Date(Math.max(...newest));
  return { parked, parkedChangedAt, oldest, minutes: shown };
}

/** Counts the parked ones; resolves to when the newest for each reason changed. */
async function addParked(
  queues: ReceiverQueues,
  parked: Partial<Record<ReasonCode, number>>,
): Promise<number[]> {
  const priorities = [...parkedPriorities.values()];
  const newest: number[] = [];
  for (const place of parkedQueues) {
    const counts = await queues.of(place).getCountsPerPriority(priorities);
    for (const [code, priority] of parkedPriorities) {
      const count = counts[priority] ?? 0;
      if (count === 0) continue;
      parked[code] = (parked[code] ?? 0) + count;
      const [last] = await idsFor(queues, place, code, count - 1, 1);
      const found = last === undefined ? null : await queues.findIn(place, last);
      if (found !== null) newest.push(found.jobState.stored.changedAt);
    }
  }
  return newest;
}
