import { setImmediate } from "node:timers";
import { ReporthookError } from "@reporthook/core";

/** One job to be added. */
export interface JobToAdd {
  readonly name: string;
  readonly data: unknown;
  readonly opts: Readonly<Record<string, unknown>>;
}

interface Waiting {
  readonly job: JobToAdd;
  readonly since: number;
  resolve(id: string): void;
  reject(error: unknown): void;
}

const atOnce = 200;
const inFlight = 2;
const patienceMs = 3_000;

/** Batches the additions of one tick, and of the time of the last call, into one call. */
export class Batcher {
  readonly #send: (jobs: readonly JobToAdd[]) => Promise<readonly string[]>;
  #waiting: Waiting[] = [];
  #sending = 0;
  #scheduled = false;

  /** `send` resolves to the ids of the stored jobs. */
  constructor(send: (jobs: readonly JobToAdd[]) => Promise<readonly string[]>) {
    this.#send = send;
  }

  /** Resolves to the id of the stored job: that of the first one if it is a copy. */
  add(job: JobToAdd): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#dropLate();
      this.#waiting.push({ job, since: performance.now(), resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#sending >= inFlight || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    this.#dropLate();
    const batch = this.#waiting.splice(0, atOnce);
    if (batch.length === 0) return;
    this.#sending++;
    this.#schedule();
    try {
      const ids = await this.#send(batch.map(({ job }) => job));
      for (const [index, { resolve }] of batch.entries()) resolve(ids[index] as string);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#sending--;
    this.#schedule();
  }

  /** Rejects additions that wait too long: their requests were answered 503, and they must not pile up while the server hangs. */
  #dropLate(): void {
    const before = performance.now() - patienceMs;
    const fresh = this.#waiting.findIndex(({ since }) => since >= before);
    for (const { reject } of this.#waiting.splice(0, fresh < 0 ? Infinity : fresh)) {
      reject(new ReporthookError("inbox_failed", "The server does not answer"));
    }
  }
}
