import { Job, type JobJson, type KeepJobs, type Queue, RedisQueueBackend } from "bullmq";

type ReadJob = typeof Job.fromJSON;

/** BullMQ throws at a job whose data is no JSON: this reads it as text, like any foreign data. */
class ReadableJob extends Job {
  static override fromJSON: ReadJob = (queue, json, id) => {
    try {
      return Job.fromJSON(queue, json, id);
    } catch {
      return Job.fromJSON(queue, { ...json, data: JSON.stringify({ text: json.data }) }, id);
    }
  };
}

/** How a job is completed. */
export interface JobCompletion {
  readonly result: unknown;
  readonly keep: KeepJobs | true;
  readonly token: string;
  /** Whether to take up the next job of the queue, locked with the same token. */
  readonly fetchNext: boolean;
  /** The new data of the job; null to keep the old data. */
  readonly data: object | null;
}

/** Completes a job; resolves to the next one, if requested and available. On Redis in one step with its data. */
export async function completeJob(
  queue: Queue,
  job: Job,
  { result, keep, token, fetchNext, data }: JobCompletion,
): Promise<Job | undefined> {
  const { backend } = queue;
  const complete = async (): Promise<readonly unknown[]> => {
    if (data !== null && backend instanceof RedisQueueBackend) {
      const fields = { data: JSON.stringify(data) };
      // A later BullMQ may not have it: then two steps do the same.
      const args = backend["moveToFinishedArgs"]?.(
        ...([job, JSON.stringify(result), "returnvalue", keep, "completed"] as const),
        ...([token, Date.now(), fetchNext, fields] as const),
      );
      if (args !== undefined) return backend.moveToFinished(job.id as string, args);
    }
    if (data !== null) await backend.updateData(job, data);
    return (await backend.moveToCompleted(job, result, keep, token, fetchNext)).result ?? [];
  };
  const [json, id] = await complete();
  return json ? ReadableJob.fromJSON(queue, json as JobJson, id as string) : undefined;
}

/** Makes a queue or a worker read any job. */
export function readable<T extends object>(of: T): T {
  return Object.defineProperty(of, "Job", { value: ReadableJob });
}
