import type { State } from "@reporthook/core";
import type { Job } from "bullmq";
import { type JobData, type JobState, jobStateOf } from "./job-state.ts";
import { remainsOf } from "./lost-jobs.ts";
import type { Place } from "./places.ts";

/** A job of BullMQ with a delivery. */
export type DeliveryJob = Job<JobData>;

/** A delivery and its job. */
export interface Found {
  readonly place: Place;
  readonly job: DeliveryJob;
  readonly jobState: JobState;
  /** Why the record can't be used: it was lost, or belongs to another delivery. */
  readonly damage: string | null;
}

/** Reads a job. */
export function foundIn(place: Place, job: DeliveryJob): Found {
  const found = takenFrom(place, job);
  const { stored } = found.jobState;
  // The delay is over, or somebody ended it with BullMQ's tools: it waits no longer.
  const isDue = job.finishedOn === undefined && job.delay === 0;
  if (isDue) stored.dueAt = Math.min(stored.dueAt, stored.changedAt);
  return found;
}

/** Reads a job that was taken up, with the due time that was planned. */
export function takenFrom<In extends Place>(
  place: In,
  job: DeliveryJob,
): Found & { readonly place: In } {
  const ended = job.finishedOn !== undefined;
  const rejected = ended && job.returnvalue === null;
  const read = jobStateOf(job.data, ended && !rejected ? job.returnvalue : null);
  const { jobState, damage } =
    read?.stored.id === job.id && read !== null
      ? { jobState: read, damage: null }
      : remainsOf({
          id: job.id ?? "",
          data: job.data,
          timestamp: job.timestamp,
          state: stateIn(place, job),
          receiver: receiverOf(job.queueName, place),
        });
  const { stored } = jobState;
  if (ended) stored.state = rejected ? "rejected" : "handled";
  return { place, job, jobState, damage };
}

/** The receiver of a queue: no prefix has a hyphen. */
function receiverOf(queueName: string, place: Place): string {
  return queueName.slice(queueName.indexOf("-") + 1, -`-${place}`.length);
}

/** The state of the deliveries that wait in a queue. */
function stateIn(place: Place, { priority }: DeliveryJob): State {
  if (place === "held" || place === "dead") return place;
  if (place === "unsigned") return priority > 0 ? "dead" : "handled";
  return place === "verify" ? "received" : "verified";
}
