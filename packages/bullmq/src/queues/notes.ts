import type { Notes } from "@reporthook/core";
import type { Queue } from "bullmq";

/** The notes of receivers: a queue without a consumer has a job for each. */
export class QueuedNotes {
  readonly #queue: Queue;

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  async find(receiver: string, prefix: string): Promise<Notes> {
    const start = idOf(receiver, prefix);
    const all = await this.#queue.getRanges(["wait"], 0, -1, true);
    const ids = [...new Set(all)].filter((id) => id.startsWith(start));
    const jobs = await Promise.all(ids.map((id) => this.#queue.getJob(id)));
    const notes = jobs.flatMap((job, index) => {
      const { text } = (job?.data ?? {}) as { readonly text?: unknown };
      const key = (ids[index] as string).slice(idOf(receiver, "").length);
      return typeof text === "string" ? [[key, text] as const] : [];
    });
    return Object.fromEntries(notes);
  }

  async keep(receiver: string, notes: Readonly<Record<string, string | null>>): Promise<void> {
    for (const [key, text] of Object.entries(notes)) {
      const jobId = idOf(receiver, key);
      const job = text === null ? undefined : await this.#queue.getJob(jobId);
      if (text === null) await this.#queue.remove(jobId);
      else if (job === undefined) await this.#queue.add("note", { text }, { jobId });
      else await job.updateData({ text });
    }
  }
}

/** A job's id must have no colon. */
function idOf(receiver: string, key: string): string {
  return `${receiver}/${key}`;
}
