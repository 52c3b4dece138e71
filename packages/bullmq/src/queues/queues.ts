import type { ReasonCode, ReasonCounts } from "@reporthook/core";
import { addCounts, dayMs, dropContent, isParked } from "@reporthook/core/store";
import type { Queue } from "bullmq";
import type { Connection } from "../server/connection.ts";
import { Batcher, type JobToAdd } from "./batcher.ts";
import { type DeliveryJob, type Found, foundIn } from "./found.ts";
import { dataOf, type JobData, type JobState } from "./job-state.ts";
import { isId } from "./lost-jobs.ts";
import { type Place, parkedQueues, placeOf, places, queueNames } from "./places.ts";
import { parkedPriorities, priorityIn } from "./priority.ts";

/** Milliseconds after which a delivery that did not begin as `received` has reached its queue. */
const arriveMs = 1_000;

/** The queues of one receiver. */
export class ReceiverQueues {
  readonly #connection: Connection;
  readonly #queues: Readonly<Record<Place, Queue<JobData>>>;
  readonly #batchers: ReadonlyMap<Place, Batcher>;

  constructor(connection: Connection, prefix: string, receiver: string) {
    this.#connection = connection;
    const queues = queueNames(receiver, prefix).map((name) => connection.queue(name));
    const named = places.map((place, index) => [place, queues[index]]);
    this.#queues = Object.fromEntries(named) as Record<Place, Queue<JobData>>;
    this.#batchers = new Map(
      places.map((place) => [place, new Batcher((jobs) => this.#addAll(place, jobs))]),
    );
  }

  /** The queue of a place. */
  of(place: Place): Queue<JobData> {
    return this.#queues[place];
  }

  /**
   * Adds a delivery to its queue, unless it is there already. The queue `verify` first checks whether it is a copy: resolves to
   * its id, or to the id of the first one. A moved delivery may be added with a delay.
   */
  async add(jobState: JobState, delay = 0): Promise<string> {
    const { stored, key, hop } = jobState;
    const place = placeOf(stored);
    if (hop > 0 || key === null) return this.#put(place, jobState, delay > 0 ? { delay } : {});
    const once = { deduplication: { id: key, ttl: dayMs } };
    if (place === "verify") return this.#put("verify", jobState, once);
    // Only the queue `verify` recognizes copies: it stores the delivery, too, in case this process dies before the next step.
    const first = await this.#put("verify", jobState, { ...once, delay: arriveMs });
    if (first !== stored.id) return first;
    return this.#put(place, { ...jobState, hop: 1 }, {});
  }

  /** Finds a delivery: if a crash left it in two queues, the job with more hops. */
  async find(id: string): Promise<Found | null> {
    if (!isId(id)) return null;
    // A delivery enters its new queue before it leaves the old one. Reads around that moment may miss it in both: then the second
    // search finds it.
    return (await this.#furthest(id)) ?? (await this.#furthest(id));
  }

  async #furthest(id: string): Promise<Found | null> {
    const found = await Promise.all(places.map((place) => this.findIn(place, id)));
    const [furthest = null] = found
      .filter((one) => one !== null)
      .sort((one, other) => other.jobState.hop - one.jobState.hop);
    return furthest;
  }

  /** The delivery in this queue. */
  async findIn(place: Place, id: string): Promise<Found | null> {
    const job: DeliveryJob | undefined = await this.of(place).getJob(id);
    return job === undefined ? null : foundIn(place, job);
  }

  /**
   * Deletes a delivery, and counts it if it is parked. Resolves to false if another process has released it or deleted it, or it was
   * parked again since. First the key: a crash in between would otherwise drop its copy.
   */
  async delete(found: Found): Promise<boolean> {
    const { jobState, job, place } = found;
    const { stored } = jobState;
    // The key of one that is there again still drops its copies. A damaged one may have no time.
    const there = await this.of(place).getJob(job.id as string);
    if (!Object.is(there?.timestamp, job.timestamp)) return false;
    if (await this.#isReleased(found)) return false;
    await this.#forgetKey(jobState);
    return this.remove(found, isParked(stored.state) ? deletedField(stored.reason?.code) : null);
  }

  /** Removes a job as it was found, in one step; resolves to false if it is gone, or another one is there. */
  remove({ place, job }: Found, counter: string | null = null): Promise<boolean> {
    const { removeJob } = this.#connection;
    return removeJob(this.of(place).name, job.id as string, job.timestamp, counter);
  }

  /** Whether a delivery that was parked is in a stage again; removes what a crash has left there. */
  async #isReleased({ jobState, place }: Found): Promise<boolean> {
    const { id } = jobState.stored;
    for (const stage of ["verify", "handle"] as const) {
      const left = stage === place ? null : await this.findIn(stage, id);
      if (left === null) continue;
      if (left.jobState.hop > jobState.hop) return true;
      await this.of(stage).remove(id);
    }
    return false;
  }

  async #forgetKey({ key, stored }: JobState): Promise<void> {
    const verify = this.of("verify");
    if (key !== null && (await verify.getDeduplicationJobId(key)) === stored.id) {
      await verify.removeDeduplicationKey(key);
    }
  }

  /** Drops the content of a rejected delivery, unless it is retried meanwhile. */
  async dropContent({ place, job, jobState }: Found): Promise<void> {
    dropContent(jobState.stored);
    const { name } = this.of(place);
    await this.#connection.updateFailed(name, job.id as string, job.data, dataOf(jobState));
  }

  /** How many parked ones were ever deleted, by reason. */
  async deleted(): Promise<ReasonCounts> {
    const reasons = [...parkedPriorities.keys()];
    const deleted: ReasonCounts = {};
    for (const place of parkedQueues) {
      const counts = await this.of(place).backend.getQueueMetaFields(reasons.map(deletedField));
      const known = reasons.map((reason, index) => [reason, Number(counts[index])] as const);
      addCounts(deleted, Object.fromEntries(known.filter(([, count]) => count > 0)));
    }
    return deleted;
  }

  #put(place: Place, jobState: JobState, opts: Record<string, unknown>): Promise<string> {
    const { stored } = jobState;
    const job = {
      name: stored.type ?? "notification",
      data: dataOf(jobState),
      opts: { ...opts, jobId: stored.id, priority: priorityIn(place, jobState) },
    };
    return (this.#batchers.get(place) as Batcher).add(job);
  }

  async #addAll(place: Place, jobs: readonly JobToAdd[]): Promise<string[]> {
    const queue = this.of(place);
    const added = await queue.addBulk([...jobs] as Parameters<typeof queue.addBulk>[0]);
    return added.map(({ id }) => id as string);
  }
}

/** The field of a queue's metadata that counts the deleted ones of a reason. */
function deletedField(reason: ReasonCode | undefined): string {
  return `deleted:${reason}`;
}
