import type { Worker } from "bullmq";
import type { DeliveryJob } from "../queues/found.ts";

/**
 * Fetches jobs for all slots. When there are none, one slot waits for the next job and the others sleep; a slot with a job wakes
 * another one, because there may be more.
 */
export class Fetcher {
  readonly worker: Worker;
  #sleeping: (() => void)[] = [];
  #waits = false;
  #ended = false;

  constructor(worker: Worker) {
    this.worker = worker;
  }

  /** Resolves to a job locked with the token, or to undefined if the caller should ask again. */
  async next(token: string): Promise<DeliveryJob | undefined> {
    if (this.#ended) return undefined;
    const job = await this.worker.getNextJob(token, { block: false });
    if (job !== undefined) {
      this.#wakeOne();
      return job;
    }
    if (this.#ended) return undefined;
    if (this.#waits) {
      await new Promise<void>((resolve) => this.#sleeping.push(resolve));
      return undefined;
    }
    this.#waits = true;
    try {
      return await this.worker.getNextJob(token);
    } finally {
      this.#waits = false;
      this.#wakeOne();
    }
  }

  /** Ends the waits. A job that was just fetched is still returned: the caller requeues it. */
  end(): void {
    this.#ended = true;
    for (const wake of this.#sleeping.splice(0)) wake();
    void this.worker.backend.disconnectBlocking(false).catch(() => {});
  }

  #wakeOne(): void {
    this.#sleeping.shift()?.();
  }
}
