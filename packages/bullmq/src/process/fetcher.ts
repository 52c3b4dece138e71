import type { Worker } from "bullmq";
import type { DeliveryJob } from "../queues/queues.ts";

/**
 * Takes jobs up for all who work at once. When there are none, one waits for the next and the others sleep; whoever gets
 * one wakes another, because where one was there may be two.
 */
export class Fetcher {
  readonly worker: Worker;
  #sleeping: (() => void)[] = [];
  #waits = false;
  #ended = false;

  constructor(worker: Worker) {
    this.worker = worker;
  }

  /** Resolves to a job that is locked with the token, or to undefined when it may be asked again. */
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

  /** Nobody waits any more. A job that was just taken up still comes: it is to be put back. */
  end(): void {
    this.#ended = true;
    for (const wake of this.#sleeping.splice(0)) wake();
    void this.worker.backend.disconnectBlocking(false).catch(() => {});
  }

  #wakeOne(): void {
    this.#sleeping.shift()?.();
  }
}
