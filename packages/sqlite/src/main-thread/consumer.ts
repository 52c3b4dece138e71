import { setImmediate } from "node:timers";
import type { ConsumeOptions, Consumer, Job, Outcome, Processor, Stage } from "@reporthook/core";
import {
  applyOutcome,
  describe,
  jobOf,
  park,
  retryIn,
  type StoredDelivery,
  setUnrefTimeout,
  stopped,
} from "@reporthook/core/store";
import { kindOf } from "../protocol/counts.ts";
import type { Completion, ConsumerState } from "../protocol/protocol.ts";
import type { Leased } from "../protocol/results.ts";
import { changesOf } from "../protocol/row.ts";
import { CompletionRecorder } from "./completion-recorder.ts";
import type { ConsumerSource } from "./consumer-source.ts";
import { PrefetchBuffer } from "./prefetch.ts";

/** The most credit that the thread has at a time. */
const maxCredit = 256;

/** The work on one stage of one receiver: runs deliveries that the thread leases to it, and has the outcomes recorded. */
export class SqliteConsumer implements Consumer {
  readonly receiver: string;
  readonly stage: Stage;
  readonly #number: number;
  readonly #source: ConsumerSource;
  readonly #processor: Processor;
  readonly #options: ConsumeOptions;
  readonly #recorder: CompletionRecorder;
  /** Until the outcome is recorded; each with a function that ends it early. */
  readonly #running = new Map<Promise<void>, () => void>();
  readonly #prefetched = new PrefetchBuffer(() => this.#requeue());
  #controller = new AbortController();
  /** How many jobs run that have not ended. */
  #working = 0;
  /** The credit that the thread still has; negative when more came than was still wanted. */
  #credit = 0;
  #stopped = false;
  #retiredAt: number | null = null;
  #due: { readonly at: number; readonly timer: unknown } | null = null;

  constructor(
    number: number,
    stage: Stage,
    source: ConsumerSource,
    processor: Processor,
    options: ConsumeOptions,
  ) {
    this.#number = number;
    this.stage = stage;
    this.receiver = options.receiver;
    this.#source = source;
    this.#processor = processor;
    this.#options = options;
    this.#recorder = new CompletionRecorder((...of) => source.complete(...of), options.onError);
    source.flush();
  }

  get running(): number {
    return this.#running.size;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** The state to be sent to the thread: from then on, the thread has the credit in it. */
  giveCredit(): ConsumerState {
    const { receiver, stage } = this;
    const credit = this.#missingCredit;
    this.#credit += credit;
    return { consumer: this.#number, receiver, stage, credit, now: this.#now() };
  }

  /** The credit to add to what the thread has; negative when some of that is not wanted any more. */
  get #missingCredit(): number {
    const { concurrency } = this.#options;
    const toPrefetch = this.#prefetched.target(concurrency) - this.#prefetched.length;
    const wanted = concurrency - this.#working + toPrefetch;
    return Math.max(0, Math.min(wanted, maxCredit)) - this.#credit;
  }

  /** Notes that requests leave it out from now on. */
  retire(): void {
    this.#retiredAt ??= performance.now();
  }

  /** Whether nothing comes any more: the thread has answered to a request, sent at `asOf`, that left it out. */
  isOver(asOf: number | null): boolean {
    if (this.#retiredAt === null || asOf === null || this.#running.size > 0) return false;
    return asOf >= this.#retiredAt;
  }

  async stop(): Promise<void> {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#sleep();
      this.#requeue();
      this.#source.flush();
    }
    await Promise.all(this.#running.keys());
  }

  async abort(): Promise<void> {
    const stopping = this.stop();
    this.#recorder.abort();
    this.#controller.abort(new Error("The receiver is closing"));
    for (const endEarly of this.#running.values()) endEarly();
    await stopping;
  }

  /** Works on a leased delivery, as soon as there is room. */
  lease(leased: Leased, cost: number): void {
    this.#credit -= cost;
    this.#prefetched.push(leased);
    if (this.#stopped) this.#requeue();
    else this.#begin();
    if (this.#credit <= 0 && this.#missingCredit > 0) this.#source.flush();
  }

  /** Wakes when the next delivery comes due; null when none waits. */
  wakeAt(at: number | null): void {
    if (this.#due?.at === at) return;
    this.#sleep();
    if (at === null || this.#stopped) return;
    const wake = (): void => {
      this.#due = null;
      this.#source.flush();
    };
    if (at <= this.#now()) wake();
    else this.#due = { at, timer: setUnrefTimeout(this.#options.clock, wake, at - this.#now()) };
  }

  /** Drops the work on lost leases; with a new thread, the credit is lost too. */
  loseLeases(reason: Error, isNewThread: boolean): void {
    this.#prefetched.clear();
    this.#controller.abort(reason);
    this.#controller = new AbortController();
    if (isNewThread) this.#credit = 0;
  }

  /** A delivery was parked, because work on it ended the process too often. */
  poisoned(kept: StoredDelivery): void {
    const { code = "poison", message = "" } = kept.reason ?? {};
    // As it was before that was recorded.
    const before = { ...kept, stage: this.stage, attempts: kept.attempts - 1 };
    this.#options.onRecorded?.(jobOf(before), park("dead", code, message));
  }

  failed(error: unknown): void {
    this.#options.onError(error);
  }

  #begin(): void {
    while (this.#working < this.#options.concurrency) {
      const leased = this.#prefetched.shift();
      if (leased === undefined) return;
      this.#run(leased);
    }
  }

  /** Gives back what has not begun, for others to work on. */
  #requeue(): void {
    for (const leased of this.#prefetched.clear()) {
      const { kept } = leased;
      const completion = this.#completionOf(leased, kept.stage, kindOf(kept));
      const ended: Promise<void> = this.#recorder.record(completion, kept).then(() => {
        this.#running.delete(ended);
      });
      this.#running.set(ended, () => {});
    }
  }

  #run(leased: Leased): void {
    const { kept } = leased;
    this.#working++;
    const startedAt = this.#now();
    const from = performance.now();
    const job = jobOf(kept);
    const { signal } = this.#controller;
    let endEarly = (): void => {};
    const outcome = new Promise<Outcome>((resolve) => {
      endEarly = () => resolve(stopped);
      // Later, so that answers to what was just stored are on their way first.
      setImmediate(() => void this.#attempt(job, signal).then(resolve));
    });
    const ended: Promise<void> = outcome.then(async (outcome) => {
      this.#working--;
      this.#prefetched.noteDuration(performance.now() - from);
      this.#begin();
      const kindBefore = kindOf(kept);
      applyOutcome(kept, outcome, startedAt, this.#now());
      const completion = this.#completionOf(leased, job.stage, kindBefore);
      const isRecorded = await this.#recorder.record(completion, kept);
      this.#running.delete(ended);
      if (isRecorded) this.#options.onRecorded?.(job, outcome);
    });
    this.#running.set(ended, endEarly);
  }

  async #attempt(job: Job, signal: AbortSignal): Promise<Outcome> {
    if (!(await this.#holdsLease(signal))) return stopped;
    try {
      return await this.#processor(job, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error);
      return retryIn(1_000, describe(error), { countsAsAttempt: true });
    }
  }

  /** Another process may have taken the lease, and be done with it, while this one stood still. */
  async #holdsLease(signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#source.holdsLeases()) && !signal.aborted;
    } catch {
      // The thread has ended, and with it the lease.
      return false;
    }
  }

  #completionOf({ seq, workerId, kept }: Leased, stage: Stage, kindBefore: number): Completion {
    return {
      seq,
      stage,
      leasedTo: workerId,
      receiver: this.receiver,
      kindBefore,
      kindAfter: kindOf(kept),
      dropBody: kept.body === null,
      changes: changesOf(kept, this.#now()),
    };
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #sleep(): void {
    if (this.#due !== null) this.#options.clock.clearTimeout(this.#due.timer);
    this.#due = null;
  }
}
