import { clearTimeout, setTimeout } from "node:timers";
import { isDeepStrictEqual } from "node:util";
import type { Backlog, Job, Lease, Outcome } from "@reporthook/core";
import {
  applyOutcome,
  cutOff,
  describe,
  jobOf,
  park,
  poison,
  retryIn,
  tellRecorded,
} from "@reporthook/core/store";
import type { DeliveryJob } from "../queues/found.ts";
import { asKept, dataOf, type JobData } from "../queues/job-state.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import { backlogShareOf } from "./backlog.ts";
import { delaySet } from "./delays.ts";
import type { JobRunHost } from "./job-run-host.ts";
import type { RunningJob } from "./locks.ts";
import { isFresh, resume, stallsOf } from "./resume.ts";
import { isLost, type LockedJob, settle } from "./settle.ts";

/** The end of one attempt. */
interface Settled {
  readonly job: Job;
  readonly outcome: Outcome;
}

/** How long to wait before trying again, in milliseconds. */
export const againMs = 1_000;
const maxStalls = 5;
/** Milliseconds that a verdict waits for the result of handling; if the process ends before, the service is asked again. */
const momentMs = 20;

/**
 * The work on one locked job, until its outcome is recorded. For a delivery that is handled right after its verdict, verdict and
 * result are recorded together, unless handling takes longer than a moment.
 */
export class JobRun implements RunningJob, Lease {
  readonly held: LockedJob;
  readonly ended: Promise<DeliveryJob | undefined>;
  /** Resolves when another job may be taken up: to the next one, if it came with the record of this one. */
  readonly free: Promise<DeliveryJob | undefined>;
  ownedAt: number;
  lost = false;
  readonly #controller = new AbortController();
  readonly signal: Lease["signal"] = this.#controller.signal;
  readonly #host: JobRunHost;
  readonly #queues: ReceiverQueues;
  /** The attempts that are not recorded. */
  readonly #settled: Settled[] = [];
  /** The delivery's share of the backlog as last recorded. */
  #before: Backlog;
  /** The data of the job with its verdict, until they are recorded. */
  #verdict: JobData | null = null;
  #recordingVerdict: Promise<unknown> | null = null;
  #letGo = (): void => {};
  #endEarly = (): void => {};
  #next: DeliveryJob | undefined;

  /** Begins at once. */
  constructor(host: JobRunHost, queues: ReceiverQueues, held: LockedJob) {
    this.held = held;
    this.#host = host;
    this.#queues = queues;
    this.#before = backlogShareOf(held.jobState.stored);
    // Locked when the server was asked for it: the answer may have waited for what blocked this process.
    const { processedOn = Date.now() } = held.job;
    this.ownedAt = performance.now() - Math.max(0, Date.now() - processedOn);
    const { locks } = host;
    locks.add(this);
    this.ended = this.#work().finally(() => locks.running.delete(this));
    const letGo = new Promise<undefined>((resolve) => {
      this.#letGo = () => resolve(undefined);
    });
    this.free = Promise.race([this.ended, letGo]);
  }

  isHeld(): boolean | Promise<boolean> {
    const { locks } = this.#host;
    if (locks.isOwned(this)) return true;
    return locks.assertOwned(this.#queues, this).then(
      () => true,
      () => false,
    );
  }

  cutOff(reason: Error): void {
    this.#controller.abort(reason);
    this.#endEarly();
  }

  async #work(): Promise<DeliveryJob | undefined> {
    if (await this.#hasGoneOn()) return undefined;
    // Asked again after each wait: this process may have stood still meanwhile.
    while (!this.#host.locks.isOwned(this)) if (!(await this.#assertOwned())) return undefined;
    const { processor } = this.#host;
    const { jobState, place, job: bull } = this.held;
    const job = jobOf({ ...jobState.stored, stage: place });
    const nothing = this.#unworkable();
    const outcome = await this.#attempt(job, async () => nothing ?? processor(job, this));
    const handling = outcome.to === "verified" ? this.#handleAtOnce() : null;
    if (handling === null) return this.#record(outcome.to);
    this.#verdict = dataOf({ ...jobState, stalls: bull.stalledCounter }, bull.data.body);
    const timer = setTimeout(() => this.#recordVerdict(), momentMs);
    const result = await this.#attempt(handling.job, () => handling.work);
    clearTimeout(timer);
    return this.#record(result.to);
  }

  /** Whether there is nothing left to do here, maybe because the lock is lost. */
  async #hasGoneOn(): Promise<boolean> {
    if (this.held.damage === null && isFresh(this.held)) return false;
    let isOver = false;
    const isKnown = await this.#insist(async () => {
      isOver = await resume(this.#queues, this.held);
    });
    return isOver || !isKnown;
  }

  #assertOwned(): Promise<boolean> {
    return this.#insist(() => this.#host.locks.assertOwned(this.#queues, this));
  }

  /** The outcome of a delivery that is unreadable, or crashes the process each time; else null. */
  #unworkable(): Outcome | null {
    const { damage } = this.held;
    const stalls = stallsOf(this.held);
    if (damage !== null) return park("dead", "not_understood", damage);
    if (stalls < maxStalls) return null;
    return poison(stalls);
  }

  /** Begins to handle a delivery right after its verdict; null if it has to wait, or another process may hold the lock. */
  #handleAtOnce(): { readonly job: Job; readonly work: Promise<Outcome> } | null {
    const { options, locks, stopped } = this.#host;
    // The verdict first, if work on it may have ended a process.
    if (stopped || stallsOf(this.held) > 0 || !locks.isOwned(this)) return null;
    const job = jobOf(this.held.jobState.stored);
    const work = options.handleAtOnce?.(job, this) ?? null;
    return work && { job, work };
  }

  /** Runs an attempt, and applies its outcome to the delivery. */
  async #attempt(job: Job, work: () => Promise<Outcome>): Promise<Outcome> {
    const { options } = this.#host;
    const startedAt = options.clock.now();
    const outcome = await new Promise<Outcome>((resolve) => {
      this.#endEarly = () => resolve(cutOff);
      if (this.#host.isAborted) resolve(cutOff);
      work().then(resolve, (error: unknown) => {
        if (!this.signal.aborted) options.onError(error);
        resolve(retryIn(againMs, describe(error), { countsAsAttempt: true }));
      });
    });
    const endedAt = options.clock.now();
    await this.#recordingVerdict;
    this.#apply(outcome, startedAt, endedAt);
    this.#settled.push({ job, outcome });
    return outcome;
  }

  #apply(outcome: Outcome, startedAt: number, endedAt: number): void {
    const { options, parts } = this.#host;
    const { stored } = this.held.jobState;
    if (outcome.to === "retry") delaySet(options.clock);
    const { wallOffset } = options.clock;
    applyOutcome(stored, outcome, startedAt, { now: endedAt, wallOffset });
    stored.changedAt = parts.shown.after(stored.changedAt);
  }

  /** Records the verdict alone: handling takes long, and a crash must not lose it. Its slot takes up another job. */
  #recordVerdict(): void {
    const { held } = this;
    const verdict = this.#verdict as JobData;
    this.#letGo();
    this.#recordingVerdict = this.#makeLasting(async () => {
      await this.#queues.of(held.place).backend.updateData(held.job, verdict);
      this.#verdict = null;
    });
  }

  /** Records the outcome; resolves to the next job, if that returned one. */
  async #record(to: Outcome["to"]): Promise<DeliveryJob | undefined> {
    await this.#makeLasting(async (isRepeated) => {
      const fetchNext = this.#recordingVerdict === null && !this.#host.stopped;
      const rest = { fetchNext, verdict: this.#verdict, isRepeated };
      this.#next = await settle(this.#queues, this.held, to, rest);
    });
    return this.#next;
  }

  async #makeLasting(write: (isRepeated: boolean) => Promise<void>): Promise<void> {
    const { locks, options, parts } = this.#host;
    const { stored } = this.held.jobState;
    let tries = 0;
    const insisting = async (): Promise<boolean> => {
      const isDone = await this.#insist(async () => {
        await locks.assertOwned(this.#queues, this);
        await write(tries++ > 0);
      });
      return isDone || (this.lost && tries > 0 && this.#isRecorded());
    };
    if (!(await parts.meter.record(stored, this.#before, insisting))) return;
    this.#before = backlogShareOf(stored);
    for (const { job, outcome } of this.#settled.splice(0)) tellRecorded(options, job, outcome);
  }

  /** Whether a try has succeeded whose answer was lost, and with it the lock. */
  async #isRecorded(): Promise<boolean> {
    const own = asKept(this.held.jobState.stored.history.at(-1));
    const found = await this.#queues.find(this.held.job.id as string).catch(() => null);
    const history = found?.jobState.stored.history ?? [];
    return history.some((one) => isDeepStrictEqual(asKept(one), own));
  }

  /** Retries each second while this process holds the lock; after an abort it tries only once. */
  async #insist(run: () => Promise<void>): Promise<boolean> {
    const host = this.#host;
    while (!this.lost) {
      try {
        await run();
        return true;
      } catch (error) {
        if (isLost(error)) host.locks.lose(this);
        else {
          host.failed(error);
          if (host.isAborted) return false;
          await host.sleep.for(againMs);
        }
      }
    }
    return false;
  }
}
