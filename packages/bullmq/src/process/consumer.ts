import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import type { ConsumeOptions, Consumer, Processor, Stage } from "@reporthook/core";
import { settlesWithin, systemClock } from "@reporthook/core/store";
import type { Worker } from "bullmq";
import { type DeliveryJob, takenFrom } from "../queues/found.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import { type Connection, untilReady } from "../server/connection.ts";
import { openMs } from "../server/driver.ts";
import { Delays, delaySet, missedDelay } from "./delays.ts";
import { Fetcher } from "./fetcher.ts";
import { againMs, JobRun } from "./job-run.ts";
import type { ConsumerParts, JobRunHost } from "./job-run-host.ts";
import { Locks } from "./locks.ts";
import { putOff } from "./settle.ts";
import { Sleep } from "./sleep.ts";
import { Takeovers } from "./takeovers.ts";

const tellEveryMs = 60_000;

/** The work of one receiver on one stage: fetches jobs, each under its lock, and records their outcomes. */
export class QueueConsumer implements Consumer, JobRunHost {
  readonly parts: ConsumerParts;
  readonly processor: Processor;
  readonly options: ConsumeOptions;
  readonly locks: Locks;
  readonly sleep: Sleep = new Sleep();
  stopped = false;
  isAborted = false;
  readonly #stage: Stage;
  readonly #slots: Promise<unknown>;
  #connection: Connection | null = null;
  #fetcher: Promise<Fetcher> | null = null;
  #takeovers: Takeovers | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(stage: Stage, parts: ConsumerParts, processor: Processor, options: ConsumeOptions) {
    this.#stage = stage;
    this.parts = parts;
    this.processor = processor;
    this.options = options;
    const { leaseMs, notices } = parts;
    this.locks = new Locks(stage, leaseMs, () => notices.lost());
    notices.add(options);
    this.#slots = Promise.all(Array.from({ length: options.concurrency }, () => this.#slot()));
  }

  get running(): number {
    return this.locks.running.size;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.sleep.wakeAll();
    void this.#fetcher?.then((fetcher) => fetcher.end()).catch(() => {});
    // While the server hangs, waits for a job or a connection may never end.
    const isOver = await settlesWithin(systemClock, againMs, this.#slots).catch(() => false);
    if (!isOver) await this.#disconnect();
    await Promise.allSettled([...this.locks.running].map(({ ended }) => ended));
    await this.#disconnect();
    clearInterval(this.#heartbeat);
    this.#takeovers?.end();
    this.parts.notices.remove(this.options);
  }

  async abort(): Promise<void> {
    this.isAborted = true;
    const stopping = this.stop();
    const reason = new Error("The receiver is closing");
    for (const running of this.locks.running) running.cutOff(reason);
    await stopping;
  }

  /** Processes jobs in sequence; each of the concurrent slots runs this. */
  async #slot(): Promise<void> {
    while (!this.stopped) {
      const token = randomUUID();
      try {
        await this.parts.closed();
        if (this.stopped) return;
        const { connection, queues } = await this.parts.open();
        this.#connection = connection;
        if (this.stopped) return;
        this.#fetcher ??= this.#begin(connection, queues);
        const fetcher = await this.#fetcher;
        if (this.stopped) return;
        let job = await fetcher.next(token);
        while (job !== undefined) job = await this.#run(queues, job, token);
      } catch (error) {
        if (this.stopped) return;
        this.failed(error);
        await this.sleep.for(againMs);
      }
    }
  }

  async #begin(connection: Connection, queues: ReceiverQueues): Promise<Fetcher> {
    const worker = connection.worker(queues.of(this.#stage).name);
    worker.on("error", (error) => {
      if (!this.stopped) this.failed(error);
    });
    try {
      await untilReady(worker, openMs);
    } catch (error) {
      // On PostgreSQL, a worker that could not connect at first never does.
      this.#fetcher = null;
      void worker.close(true).catch(() => {});
      throw error;
    }
    const everyMs = Math.max(this.parts.leaseMs / 3, 50);
    clearInterval(this.#heartbeat);
    const delays = new Delays(queues.of(this.#stage), this.#stage, this.options.clock);
    const keep = (): void => {
      this.locks.renew(queues).catch((error) => this.failed(error));
      delays.keep().catch((error) => this.failed(error));
    };
    this.#heartbeat = setInterval(keep, everyMs).unref();
    delays.keep().catch((error) => this.failed(error));
    this.#watchOthers(connection, queues, worker);
    void worker.startStalledCheckTimer().catch((error) => this.failed(error));
    return new Fetcher(worker);
  }

  #watchOthers(connection: Connection, queues: ReceiverQueues, worker: Worker): void {
    const queue = queues.of(this.#stage);
    const { leaseMs, notices } = this.parts;
    this.#takeovers?.end();
    const findOwners = async () => {
      const ids = await queue.getRanges(["active"], 0, -1);
      const names = ids.length === 0 ? [] : await connection.ownersOf(queue.name, ids);
      return new Map(ids.map((id, index) => [id, names[index] ?? "unknown"]));
    };
    const takeovers = new Takeovers(findOwners, leaseMs, (notice) => notices.tell(notice));
    this.#takeovers = takeovers;
    worker.on("stalled", (id) => takeovers.add(id));
  }

  async #disconnect(): Promise<void> {
    const fetcher = await this.#fetcher?.catch(() => null);
    if (!fetcher) return;
    await settlesWithin(systemClock, againMs, fetcher.worker.close(true)).catch(() => {});
  }

  /** Resolves to the next job, if it came with the end of this one. */
  async #run(
    queues: ReceiverQueues,
    job: DeliveryJob,
    token: string,
  ): Promise<DeliveryJob | undefined> {
    const place = this.#stage;
    if (this.stopped) {
      await queues.of(place).backend.moveJobFromActiveToWait(job.id as string, token);
      return undefined;
    }
    const held = { ...takenFrom(place, job), token };
    const early = missedDelay(held.jobState.stored, this.options.clock);
    if (early !== null && early > 0) {
      delaySet(this.options.clock);
      await putOff(queues, held, early);
      return undefined;
    }
    return new JobRun(this, queues, held).free;
  }

  /** Reports an error once a minute, not at each try. */
  failed(error: unknown): void {
    const now = performance.now();
    if (now - this.#toldAt < tellEveryMs || this.parts.notices.stoodStill) return;
    this.#toldAt = now;
    // Without a connection it is of its opening.
    this.options.onError(this.#connection?.explained(error) ?? error);
  }
}
