import type { Counts, Minute, ReasonCode, State, Summary, SummaryQuery } from "@reporthook/core";
import { idRange, minuteMs, minuteOf, states, timeOf, zeroCounts } from "@reporthook/core/store";
import { parkedPriorities } from "../queues/priority.ts";
import { parkedQueues, type ReceiverQueues } from "../queues/queues.ts";
import { idsFor } from "./parked.ts";
import { eachId, oldestOf } from "./query.ts";

const samples = 30;

interface Counting {
  readonly counts: Record<State, number>;
  readonly ids: [ReceiverQueues, string][];
}

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
  const minutes = new Map<number, Counting>();
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
        const minute = minutes.get(at) ?? { counts: zeroCounts(), ids: [] };
        minute.counts[state]++;
        if (minute.ids.length < samples) minute.ids.push([queues, id]);
        minutes.set(at, minute);
      };
      await eachId(queues, state, count, () => query.from.getTime());
    }
  }
  const inOrder = [...minutes].sort(([one], [other]) => one - other);
  const shown: Minute[] = [];
  for (const [at, { counts, ids }] of inOrder) shown.push(await minuteWith(at, counts, ids));
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

async function minuteWith(at: number, counts: Counts, ids: Counting["ids"]): Promise<Minute> {
  const found = await Promise.all(ids.map(([queues, id]) => queues.find(id)));
  const ackMs = found.flatMap((one) => (one === null ? [] : [one.jobState.stored.ackMs]));
  return minuteOf(at, counts, ackMs);
}
