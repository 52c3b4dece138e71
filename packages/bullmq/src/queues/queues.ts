import type { ReasonCode, State } from "@reporthook/core";
import { dayMs, isUnsigned, type StoredDelivery } from "@reporthook/core/store";
import type { Job, Queue } from "bullmq";
import type { Connection } from "../server/connection.ts";
import { Batcher } from "./batcher.ts";
import { dataOf, type JobData, type JobState, jobStateOf } from "./job-state.ts";
import { isId, remainsOf } from "./lost-jobs.ts";
import { handlePriority, parkedPriorities, verifyPriority } from "./priority.ts";

/**
 * The queues of a receiver: of each stage, of each state that waits for a person, and of what came without a signature and
 * was handled or is dead: of that less is kept.
 */
export type Place = "verify" | "handle" | "held" | "dead" | "unsigned";

/** All, in the order of a delivery's way. */
const places: readonly Place[] = ["verify", "handle", "held", "dead", "unsigned"];

/** A job of BullMQ that carries a delivery. */
export type DeliveryJob = Job<JobData>;

/** A delivery, and the job that carries it. */
export interface Found {
  readonly place: Place;
  readonly job: DeliveryJob;
  readonly jobState: JobState;
  readonly state: State;
  /** Why the record can't be used: it was lost, or is of another. */
  readonly damage: string | null;
}

/** The queues that nobody works on: what is parked is in them. */
export const parkedQueues = ["held", "dead", "unsigned"] as const;

/** BullMQ's words for what waits or is being worked on. */
export const unfinished = ["wait", "prioritized", "delayed", "active"] as const;

/** Milliseconds after which a delivery that did not begin as `received` is sure to be where it begins. */
const arriveMs = 1_000;

/**
 * The names of a receiver's queues, for BullMQ's own tools: `prefix` is the option of the inbox.
 *
 * @example queueNames("reports").map((name) => new BullMQAdapter(new Queue(name, { connection })));
 */
export function queueNames(receiver: string, prefix = "reporthook"): readonly string[] {
  return places.map((place) => `${prefix}-${receiver}-${place}`);
}

/** The queues of one receiver. */
export class ReceiverQueues {
  readonly #queues: Readonly<Record<Place, Queue<JobData>>>;
  readonly #gatherings = new Map<Place, Batcher>();

  constructor(connection: Connection, prefix: string, receiver: string) {
    const queues = queueNames(receiver, prefix).map((name, index) => {
      const queue = connection.queue(name) as Queue<JobData>;
      queue.on("error", () => {});
      const sending = new Batcher(async (jobs) => {
        const added = await queue.addBulk([...jobs] as Parameters<typeof queue.addBulk>[0]);
        return added.map(({ id }) => id as string);
      });
      this.#gatherings.set(places[index] as Place, sending);
      return [places[index], queue];
    });
    this.#queues = Object.fromEntries(queues) as Record<Place, Queue<JobData>>;
  }

  /** One of them. */
  of(place: Place): Queue<JobData> {
    return this.#queues[place];
  }

  /**
   * Puts a delivery where it belongs; nothing happens if it is there already. The first time the queue of those to be
   * verified is asked whether it is a copy: resolves to its id, or to that of the first. One that has gone on may be
   * put there to be due later.
   */
  async add(jobState: JobState, delay = 0): Promise<string> {
    const { kept, key, hop } = jobState;
    const place = placeOf(kept);
    if (hop > 0 || key === null) return this.#put(place, jobState, delay > 0 ? { delay } : {});
    const once = { deduplication: { id: key, ttl: dayMs } };
    if (place === "verify") return this.#put("verify", jobState, once);
    // Only one queue knows the copies: it is told, and has it put there should this process die before it did.
    const first = await this.#put("verify", jobState, { ...once, delay: arriveMs });
    if (first !== kept.id) return first;
    return this.#put(place, { ...jobState, hop: 1 }, {});
  }

  /** Where a delivery is: of two that a crash left in two places, the one that is further. */
  async find(id: string): Promise<Found | null> {
    if (!isId(id)) return null;
    // One that moves is in its new place before it leaves the old one, and may be missed in both when they are asked
    // around that: then it is found now.
    return (await this.#furthest(id)) ?? (await this.#furthest(id));
  }

  async #furthest(id: string): Promise<Found | null> {
    const found = await Promise.all(places.map((place) => this.look(place, id)));
    const [furthest = null] = found
      .filter((one) => one !== null)
      .sort((one, other) => other.jobState.hop - one.jobState.hop);
    return furthest;
  }

  /** The delivery as this queue has it. */
  async look(place: Place, id: string): Promise<Found | null> {
    const job: DeliveryJob | undefined = await this.of(place).getJob(id);
    return job === undefined ? null : foundIn(place, job);
  }

  #put(place: Place, jobState: JobState, opts: Record<string, unknown>): Promise<string> {
    const { kept } = jobState;
    const job = {
      name: kept.type ?? "notification",
      data: dataOf(jobState),
      opts: { ...opts, jobId: kept.id, priority: priorityIn(place, jobState) },
    };
    return (this.#gatherings.get(place) as Batcher).add(job);
  }
}

/** The ids of those that are verified and not in the queue of those, because they are being handled where they were verified. */
export async function handledAtOnce(queues: ReceiverQueues): Promise<string[]> {
  const active = await queues.of("verify").getJobs(["active"]);
  return active.flatMap((job) => {
    const state = job && jobStateOf(job.data)?.kept.state;
    return state === "verified" ? [job.id as string] : [];
  });
}

/** A job, read. */
export function foundIn(place: Place, job: DeliveryJob): Found {
  const ended = job.finishedOn !== undefined;
  const rejected = ended && job.returnvalue === null;
  const read = jobStateOf(job.data, ended && !rejected ? job.returnvalue : null);
  const { jobState, damage } =
    read?.kept.id === job.id && read !== null
      ? { jobState: read, damage: null }
      : remainsOf({
          ...{ id: job.id ?? "", data: job.data, timestamp: job.timestamp },
          ...{ state: stateIn(place, job), receiver: receiverOf(job.queueName, place) },
        });
  const { kept } = jobState;
  const state = ended ? (rejected ? "rejected" : "handled") : kept.state;
  kept.state = state;
  // BullMQ's own delay is over or was ended by hand: it waits no longer.
  if (!ended && job.delay === 0) kept.dueAt = Math.min(kept.dueAt, Date.now());
  return { place, job, jobState, state, damage };
}

/** No prefix has a hyphen. */
function receiverOf(queueName: string, place: Place): string {
  return queueName.slice(queueName.indexOf("-") + 1, -`-${place}`.length);
}

/** The state of those who wait in a queue. */
function stateIn(place: Place, { priority }: DeliveryJob): State {
  if (place === "held" || place === "dead") return place;
  if (place === "unsigned") return priority > 0 ? "dead" : "handled";
  return place === "verify" ? "received" : "verified";
}

/** The queue that it belongs into. */
export function placeOf(kept: StoredDelivery): Place {
  const { state } = kept;
  if (isUnsigned(kept) && (state === "handled" || state === "dead")) return "unsigned";
  if (state === "held" || state === "dead") return state;
  return state === "received" ? "verify" : "handle";
}

/** The priority that a delivery has in a queue. */
export function priorityIn(place: Place, { kept }: JobState): number {
  if (place === "verify") return verifyPriority(kept.receivedAt, kept.lowPriority);
  if (place === "handle") return handlePriority(kept.released ? null : kept.verification);
  // Without one they lie apart from all that have one.
  if (kept.state === "handled") return 0;
  return parkedPriorities.get(kept.reason?.code as ReasonCode) ?? parkedPriorities.size;
}
