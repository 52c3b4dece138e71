import type { ActQuery, ActsQuery, LoggedAct } from "@reporthook/core";
import { loggedActOf, maxActs, selectionFrom } from "@reporthook/core/store";
import type { Queue } from "bullmq";

interface StoredAct extends Omit<LoggedAct, "at" | "selection"> {
  readonly receiver: string | null;
  readonly at: number;
  /** JSON text. */
  readonly selection: string;
}

/** The log of the acts of people: a job for each, in a queue without a consumer. */
export class ActQueue {
  readonly #queue: Queue;

  constructor(queue: Queue) {
    this.#queue = queue;
    queue.on("error", () => {});
  }

  /** Adds an act, unless it changed nothing. */
  async add(query: ActQuery, count: number): Promise<void> {
    if (count === 0) return;
    const logged = loggedActOf(query, count);
    const stored: StoredAct = {
      ...logged,
      receiver: query.receiver ?? null,
      at: logged.at.getTime(),
      selection: JSON.stringify(logged.selection),
    };
    // With a priority, jobs stay in the order in which they were added.
    await this.#queue.add("act", stored, { priority: actPriority });
    const ids = await this.#ids();
    await Promise.all(ids.slice(0, -maxActs).map((id) => this.#queue.remove(id)));
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
    return found.slice(0, limit);
  }

  #ids(): Promise<string[]> {
    return this.#queue.getRanges(["prioritized"], 0, -1, true);
  }
}

const actPriority = 1;
const readAtOnce = 100;
