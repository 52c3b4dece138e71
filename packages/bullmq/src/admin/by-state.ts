import type { Counts, State } from "@reporthook/core";
import { addCounts, isNotification, states, zeroCounts } from "@reporthook/core/store";
import { jobStateOf } from "../queues/job-state.ts";
import { isId } from "../queues/lost-jobs.ts";
import { type Place, places, unfinished } from "../queues/places.ts";
import type { ReceiverQueues } from "../queues/queues.ts";

/** A type of BullMQ's jobs: a queue has a set of each. */
export type JobType = (typeof unfinished)[number] | "completed" | "failed";

const types: readonly JobType[] = [...unfinished, "completed", "failed"];

type Sets = readonly (readonly [Place, readonly JobType[]])[];

/** The sets of jobs in which the deliveries of a state are, but for those of `verify` that are handled right after their verdict. */
const setsOf: Readonly<Record<State, Sets>> = {
  received: [["verify", unfinished]],
  verified: [["handle", unfinished]],
  handled: [
    ["verify", ["completed"]],
    ["handle", ["completed"]],
    ["unsigned", ["wait"]],
  ],
  held: [["held", unfinished]],
  rejected: [
    ["verify", ["failed"]],
    ["handle", ["failed"]],
  ],
  dead: [
    ["dead", unfinished],
    ["unsigned", ["prioritized"]],
  ],
};

/** Each set of jobs with deliveries of a state. */
export function setsWith(state: State): (readonly [Place, JobType])[] {
  return setsOf[state].flatMap(([place, all]) => all.map((type) => [place, type] as const));
}

const readAtOnce = 20_000;
const endedAtOnce = 1_000;
const peek = 1_000;
const ends = 100;
/** Most events of the receiver itself that are passed over to find the newest notification. */
const ownAtOnce = 20;

/** The deliveries of a receiver by their states, for one question. */
export class ByState {
  readonly #queues: ReceiverQueues;
  #atOnce: Promise<ReadonlySet<string>> | null = null;

  constructor(queues: ReceiverQueues) {
    this.#queues = queues;
  }

  /** The number in each state. */
  async counts(): Promise<Counts> {
    const counting = places.map((place) => this.#queues.of(place).getJobCounts(...types));
    const [atOnce, ...inPlaces] = await Promise.all([this.#handledAtOnce(), ...counting]);
    const counts = zeroCounts();
    for (const state of states) {
      for (const [place, type] of setsWith(state)) {
        counts[state] += inPlaces[places.indexOf(place)]?.[type] ?? 0;
      }
    }
    // Read one after the other: those handled at once may have been recorded since.
    const number = Math.min(atOnce.size, counts.received);
    addCounts(counts, { received: -number, verified: number });
    return counts;
  }

  /**
   * Calls `found` with all ids of one state, in no particular order. Ended jobs are read newest first, down to those that ended
   * before `since()`: these were received before that, too.
   */
  async eachId(
    state: State,
    found: (id: string) => void,
    since: () => number = () => 0,
  ): Promise<void> {
    const take = await this.#filter(state, found);
    for (const [place, type] of setsWith(state)) {
      const queue = this.#queues.of(place);
      const ended = type === "completed" || type === "failed";
      const step = ended ? endedAtOnce : readAtOnce;
      for (let from = 0; ; from += step) {
        const ids = await queue.getRanges([type], from, from + step - 1, !ended);
        for (const id of ids) take(id);
        const last = ids.at(-1);
        if (last === undefined || ids.length < step) break;
        if (ended && ((await queue.getJob(last))?.finishedOn ?? Infinity) < since()) break;
      }
    }
  }

  /** The id of the oldest in a state, among the first thousand of its sets. */
  async oldest(state: State): Promise<string | null> {
    const ids: string[] = [];
    const take = await this.#filter(state, (id) => ids.push(id));
    for (const [place, type] of setsWith(state)) {
      for (const id of await this.#queues.of(place).getRanges([type], 0, peek, true)) take(id);
    }
    return ids.filter(isId).sort()[0] ?? null;
  }

  /** The id of the newest that came from outside, among the first and last hundred of all sets. */
  async newest(): Promise<string | null> {
    const sets = states.flatMap(setsWith).flatMap(([place, type]) => {
      const queue = this.#queues.of(place);
      return [true, false].map((asc) => queue.getRanges([type], 0, ends, asc));
    });
    const ids = [...new Set((await Promise.all(sets)).flat().filter(isId))].sort().reverse();
    const found = await Promise.all(ids.slice(0, ownAtOnce).map((id) => this.#queues.find(id)));
    const at = found.findIndex((one) => one === null || isNotification(one.jobState.stored));
    return ids[at < 0 ? found.length : at] ?? null;
  }

  /** Takes ids in the sets of a state: without those whose verdict is there, and for `verified` with them. */
  async #filter(state: State, take: (id: string) => void): Promise<(id: string) => void> {
    if (state !== "received" && state !== "verified") return take;
    const atOnce = await this.#handledAtOnce();
    if (state === "verified") {
      for (const id of atOnce) take(id);
      return take;
    }
    return (id) => {
      if (!atOnce.has(id)) take(id);
    };
  }

  /** The ids of verified deliveries that are still in the queue `verify`, because they are handled right after their verdict. */
  #handledAtOnce(): Promise<ReadonlySet<string>> {
    const read = async (): Promise<ReadonlySet<string>> => {
      const active = await this.#queues.of("verify").getJobs(["active"]);
      const verified = active.filter(
        (job) => job && jobStateOf(job.data)?.stored.state === "verified",
      );
      return new Set(verified.map((job) => job.id as string));
    };
    this.#atOnce ??= read();
    return this.#atOnce;
  }
}

/** The number of deliveries of several receivers in each state. */
export async function countAll(all: readonly ReceiverQueues[]): Promise<Counts> {
  const counts = zeroCounts();
  const each = await Promise.all(all.map((queues) => new ByState(queues).counts()));
  for (const one of each) addCounts(counts, one);
  return counts;
}
