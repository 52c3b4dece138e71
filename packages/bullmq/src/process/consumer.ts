import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import type {
  Backlog,
  ConsumeOptions,
  Consumer,
  Job,
  Outcome,
  Processor,
  Stage,
} from "@reporthook/core";
import { applyOutcome, describe, jobOf, park, retryIn, stopped } from "@reporthook/core/store";
import { type DeliveryJob, foundIn, parkedQueues, type ReceiverQueues } from "../queues/queues.ts";
import { type Connection, inTime, openMs } from "../server/connection.ts";
import { type BacklogMeter, backlogShareOf } from "./backlog.ts";
import { Fetcher } from "./fetcher.ts";
import { Locks, type RunningJob } from "./locks.ts";
import { isLost, nextHop, removeFromQueue, requeueJob, settle } from "./settle.ts";
import { Sleep } from "./sleep.ts";

/** What a consumer needs of its inbox. */
export interface ConsumerParts {
  readonly meter: BacklogMeter;
  readonly leaseMs: number;
  readonly handledMs: number;
  /** Resolves once the inbox is not being closed. */
  closed(): Promise<unknown>;
  /** Connects if need be. */
  open(): Promise<{ readonly connection: Connection; readonly queues: ReceiverQueues }>;
}

const againMs = 1_000;
const maxStalls = 5;
const tellEveryMs = 60_000;

/** One receiver's work on one stage: takes jobs up, one lock for each, and has recorded what becomes of them. */
export class QueueConsumer implements Consumer {
  readonly #stage: Stage;
  readonly #parts: ConsumerParts;
  readonly #processor: Processor;
  readonly #options: ConsumeOptions;
  readonly #locks: Locks;
  readonly #slots: Promise<unknown>;
  #fetcher: Promise<Fetcher> | null = null;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  readonly #sleep = new Sleep();
  #stopped = false;
  #aborted = false;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(stage: Stage, parts: ConsumerParts, processor: Processor, options: ConsumeOptions) {
    this.#stage = stage;
    this.#parts = parts;
    this.#processor = processor;
    this.#options = options;
    this.#locks = new Locks(stage, parts.leaseMs);
    this.#slots = Promise.all(Array.from({ length: options.concurrency }, () => this.#slot()));
  }

  get running(): number {
    return this.#locks.running.size;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sleep.wakeAll();
    void this.#fetcher?.then((fetcher) => fetcher.end()).catch(() => {});
    // While the server hangs neither the wait for a job nor that for the connection may ever end.
    await inTime(this.#slots, againMs).catch(() => this.#disconnect());
    await Promise.allSettled([...this.#locks.running].map(({ ended }) => ended));
    await this.#disconnect();
    clearInterval(this.#heartbeat);
  }

  async abort(): Promise<void> {
    this.#aborted = true;
    const stopping = this.stop();
    for (const { controller, requeue } of this.#locks.running) {
      controller.abort(new Error("The receiver is closing"));
      requeue();
    }
    await stopping;
  }

  /** One of those that work at once. */
  async #slot(): Promise<void> {
    while (!this.#stopped) {
      const token = randomUUID();
      try {
        await this.#parts.closed();
        if (this.#stopped) return;
        const { connection, queues } = await this.#parts.open();
        if (this.#stopped) return;
        this.#fetcher ??= this.#begin(connection, queues);
        const fetcher = await this.#fetcher;
        if (this.#stopped) return;
        const job = await fetcher.next(token);
        if (job === undefined) continue;
        if (this.#stopped) await requeueJob(queues, this.#stage, job, token);
        else await this.#run(queues, job, token);
      } catch (error) {
        if (this.#stopped) return;
        this.#tell(error);
        await this.#sleep.for(againMs);
      }
    }
  }

  async #begin(connection: Connection, queues: ReceiverQueues): Promise<Fetcher> {
    const worker = connection.worker(queues.of(this.#stage).name);
    worker.on("error", (error) => this.#tell(error));
    try {
      await inTime(worker.waitUntilReady(), openMs);
    } catch (error) {
      // On PostgreSQL one that could not connect at first never does.
      this.#fetcher = null;
      void worker.close(true).catch(() => {});
      throw error;
    }
    const everyMs = Math.max(this.#parts.leaseMs / 3, 50);
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => {
      this.#locks.renew(queues).catch((error) => this.#tell(error));
    }, everyMs).unref();
    void worker.startStalledCheckTimer().catch((error) => this.#tell(error));
    return new Fetcher(worker);
  }

  async #disconnect(): Promise<void> {
    const fetcher = await this.#fetcher?.catch(() => null);
    if (fetcher) await inTime(fetcher.worker.close(true), againMs).catch(() => {});
  }

  async #run(queues: ReceiverQueues, job: DeliveryJob, token: string): Promise<void> {
    const { jobState, damage } = foundIn(this.#stage, job);
    const running = this.#locks.track({ place: this.#stage, job, token, jobState }, damage);
    try {
      running.ended = this.#handle(queues, running);
      await running.ended;
    } finally {
      this.#locks.untrack(running);
    }
  }

  async #handle(queues: ReceiverQueues, running: RunningJob): Promise<void> {
    const { damage } = running;
    const { jobState, job: bull } = running.held;
    const startedAt = this.#options.clock.now();
    if (await this.#settled(queues, running)) return;
    const { kept } = jobState;
    const job = jobOf({ ...kept, stage: this.#stage });
    const losses = bull.stalledCounter - jobState.stalls;
    const poison = `The process ended ${losses} times while it processed this delivery. Fix the cause, then release it.`;
    const outcome =
      damage !== null
        ? park("dead", "not_understood", damage)
        : losses >= maxStalls
          ? park("dead", "poison", poison)
          : await this.#attempt(job, running);
    const before = backlogShareOf(kept);
    applyOutcome(kept, outcome, startedAt, this.#options.clock.now());
    if (await this.#record(queues, running, outcome, before)) {
      this.#options.onRecorded?.(job, outcome);
    }
  }

  /** Ends work that another process had ended before it died, or lost its lock. */
  async #settled(queues: ReceiverQueues, running: RunningJob): Promise<boolean> {
    const { jobState, job, place } = running.held;
    const { state, released, attempts } = jobState.kept;
    const here = state === (place === "verify" ? "received" : "verified");
    const justReleased = released && attempts === 0;
    const untouched = running.damage === null && job.stalledCounter === jobState.stalls;
    if (here && untouched && !justReleased) return false;
    let there = false;
    const look = async (): Promise<void> => {
      const found = await queues.find(job.id as string);
      there = found !== null && found.jobState.hop > jobState.hop;
      if (there || !here) {
        if (state === "rejected") await settle(queues, running.held, "rejected", 0);
        else {
          if (!there) await queues.add(nextHop(jobState));
          await removeFromQueue(queues, running.held);
        }
      } else if (justReleased) {
        // Whoever released it may have died before it was taken from where it was parked.
        for (const shelf of parkedQueues) await queues.of(shelf).remove(job.id as string);
      }
    };
    await this.#insist(running, look);
    return there || !here || running.lost;
  }

  #attempt(job: Job, running: RunningJob): Promise<Outcome> {
    const { signal } = running.controller;
    return new Promise<Outcome>((resolve) => {
      running.requeue = () => resolve(stopped);
      if (this.#aborted) resolve(stopped);
      const attempt = async (): Promise<Outcome> => {
        try {
          return await this.#processor(job, signal);
        } catch (error) {
          if (!signal.aborted) this.#options.onError(error);
          return retryIn(againMs, describe(error), { countsAsAttempt: true });
        }
      };
      void attempt().then(resolve);
    });
  }

  async #record(
    queues: ReceiverQueues,
    running: RunningJob,
    { to }: Outcome,
    before: Backlog,
  ): Promise<boolean> {
    return this.#parts.meter.record(running.held.jobState.kept, before, () =>
      this.#insist(running, async () => {
        await this.#locks.assertOwned(queues, running);
        await settle(queues, running.held, to, this.#parts.handledMs);
      }),
    );
  }

  /** Tries again each second, for as long as the lock is ours; whoever aborts waits for one try only. */
  async #insist(running: RunningJob, run: () => Promise<void>): Promise<boolean> {
    while (!running.lost) {
      try {
        await run();
        return true;
      } catch (error) {
        if (isLost(error)) running.lost = true;
        else if (this.#aborted) return false;
        else {
          this.#tell(error);
          await this.#sleep.for(againMs);
        }
      }
    }
    return false;
  }

  /** Once a minute, not at each try. */
  #tell(error: unknown): void {
    const now = performance.now();
    if (now - this.#toldAt < tellEveryMs || this.#stopped) return;
    this.#toldAt = now;
    this.#options.onError(error);
  }
}
