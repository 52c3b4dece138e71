import type { ActQuery, ActsQuery, LoggedAct } from "@reporthook/core";
import { loggedActOf, maxActs, selectionFrom } from "@reporthook/core/store";
import type { Job, Queue } from "bullmq";

interface StoredAct extends Omit<LoggedAct, "at" | "selection"> {
  readonly receiver: string | null;
  readonly at: number;
  /** JSON text. */
  readonly selection: string;
}

/** An act in the log. */
export type ActJob = Job<StoredAct>;

/** The log of the acts of people: a job for each, in a queue without a consumer. */
export class ActQueue {
  readonly #queue: Queue;

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** The last acts, newest first: those on this receiver, or on all. */
  async list({ receiver, limit = 100 }: ActsQuery): Promise<LoggedAct[]> {
    const found: LoggedAct[] = [];
    const ids = (await this.#ids()).reverse();
    for (let from = 0; from < ids.length && found.length < limit; from += readAtOnce) {
      const some = ids.slice(from, from + readAtOnce).map((id) => this.#queue.getJob(id));
      for (const job of await Promise.all(some)) {
        if (job === undefined) continue;
        const { receiver: of, at, selection, ...rest } = job.data as StoredAct;
        if (receiver !== undefined && of !== null && of !== receiver) continue;
        found.push({ ...rest, at: new Date(at), selection: selectionFrom(selection) });
      }
    }
    return found.slice(0, Math.min(limit, maxActs));
  }

  /** Adds an act that has changed nothing yet. */
  async add(query: ActQuery): Promise<ActJob> {
    const ids = await this.#ids();
    await Promise.all(ids.slice(0, -maxActs).map((id) => this.#queue.remove(id)));
    const { at, selection, ...logged } = loggedActOf(query, 0);
    const stored: StoredAct = {
      ...logged,
      receiver: query.receiver ?? null,
      at: at.getTime(),
      selection: JSON.stringify(selection),
    };
    // With a priority, jobs stay in the order in which they were added.
    return this.#queue.add("act", stored, { priority: actPriority });
  }

  /** Keeps how many an act has changed by now; resolves to null once it is removed, because there are none. */
  async keepCount(job: ActJob, count: number): Promise<ActJob | null> {
    if (count === 0) await job.remove();
    else await job.updateData({ ...job.data, count });
    return count === 0 ? null : job;
  }

  #ids(): Promise<string[]> {
    return this.#queue.getRanges(["prioritized"], 0, -1, true);
  }
}

const actPriority = 1;
const readAtOnce = 100;
