import { clearImmediate, setImmediate } from "node:timers";
import type { ConsumeOptions, Consumer, Processor, Stage, StopSignal } from "@reporthook/core";
import {
  InFlight,
  jobOf,
  park,
  type StoredDelivery,
  setUnrefTimeout,
  tellRecorded,
} from "@reporthook/core/store";
import type { ConsumerState } from "../protocol/protocol.ts";
import { PrefetchBuffer } from "./prefetch.ts";
import { type ConsumerSource, Run, type RunHost } from "./run.ts";
import type { Leased } from "./thread-connection.ts";

/** The most credit that the thread has at a time. */
const maxCredit = 256;

/** The work on one stage of one receiver: processes the deliveries that the thread leases to it, and records the outcomes. */
export class SqliteConsumer implements Consumer, RunHost {
  readonly number: number;
  readonly receiver: string;
  readonly stage: Stage;
  readonly processor: Processor;
  readonly options: ConsumeOptions;
  readonly source: ConsumerSource;
  stopped = false;
  isAborted = false;
  /** When the thread was told that it has ended. */
  retiredAt: number = Number.POSITIVE_INFINITY;
  /** Until the outcome of the delivery is recorded. */
  readonly #running = new InFlight<Run>();
  readonly #prefetched = new PrefetchBuffer(() => this.#requeue());
  #controller = new AbortController();
  #beginning: ReturnType<typeof setImmediate> | undefined;
  /** The number of running jobs of this stage, without those that are handled right after their verdict. */
  #working = 0;
  /** The credit that the thread still has; negative if more deliveries came than were wanted. */
  #credit = 0;
  /** Whether the thread gets a state although no credit is due. */
  #isAsking = false;
  #due: { readonly at: number; readonly timer: unknown } | null = null;

  constructor(
    number: number,
    stage: Stage,
    source: ConsumerSource,
    processor: Processor,
    options: ConsumeOptions,
  ) {
    this.number = number;
    this.stage = stage;
    this.receiver = options.receiver;
    this.source = source;
    this.processor = processor;
    this.options = options;
    source.notices.add(options);
    this.#ask();
  }

  get running(): number {
    return this.#running.size;
  }

  get signal(): StopSignal {
    return this.#controller.signal;
  }

  /**
   * The state to send to the thread, which then has its credit; null while none is due. `at` is the monotonic time; `isStale` if the
   * thread has to be told the time of the receiver.
   */
  takeState(at: number, isStale: boolean): ConsumerState | null {
    const highWaterMark = this.#highWaterMark;
    const missing = this.stopped ? 0 : highWaterMark - this.#credit;
    // A state for each delivery would cost more than it brings: at half of the mark it is time.
    const isLow = missing > 0 && this.#credit <= highWaterMark / 2;
    const isDue = isLow || missing < 0 || isStale || this.#isAsking;
    if (this.retiredAt <= at || !isDue) return null;
    this.#isAsking = false;
    if (this.stopped) this.retiredAt = at;
    this.#credit += missing;
    const { clock } = this.options;
    return {
      consumer: this.number,
      receiver: this.receiver,
      stage: this.stage,
      now: clock.now(),
      wallOffset: clock.wallOffset,
      knownSince: clock.knownSince,
      credit: missing,
      hasEnded: this.stopped,
    };
  }

  /** Sends its state to the thread, which serves it, although nothing has changed here. */
  #ask(): void {
    this.#isAsking = true;
    this.source.tell(this.receiver);
  }

  /** The credit that the thread should have: one for each free slot, and for what to prefetch. */
  get #highWaterMark(): number {
    const { concurrency } = this.options;
    const toPrefetch = this.#prefetched.target(concurrency) - this.#prefetched.length;
    return Math.max(0, Math.min(concurrency - this.#working + toPrefetch, maxCredit));
  }

  async stop(): Promise<void> {
    if (!this.stopped) {
      this.stopped = true;
      this.#sleep();
      this.#requeue();
      this.#ask();
    }
    await this.#running.emptied();
    this.source.notices.remove(this.options);
  }

  async abort(): Promise<void> {
    const stopping = this.stop();
    this.isAborted = true;
    this.#controller.abort(new Error("The receiver is closing"));
    for (const run of this.#running) run.endEarly();
    await stopping;
  }

  /** Processes a leased delivery as soon as a slot is free. */
  lease(leased: Leased): void {
    this.#credit -= leased.claimed.cost;
    this.#prefetched.push(leased);
    if (this.stopped) this.#requeue();
    else this.#beginSoon();
    if (this.#credit <= 0 && this.#highWaterMark > this.#credit) this.source.tell(this.receiver);
  }

  /** Wakes when the next delivery comes due; Infinity when none waits. */
  wakeAt(at: number): void {
    if (this.#due?.at === at) return;
    this.#sleep();
    if (at === Number.POSITIVE_INFINITY || this.stopped) return;
    const wake = (): void => {
      this.#due = null;
      this.#ask();
    };
    const { clock } = this.options;
    const now = clock.now();
    if (at <= now) wake();
    else this.#due = { at, timer: setUnrefTimeout(clock, wake, at - now) };
  }

  /** Drops the work on lost leases; with a new thread, the credit is lost too. */
  loseLeases(reason: Error, isNewThread: boolean): void {
    this.#prefetched.clear();
    this.#controller.abort(reason);
    this.#controller = new AbortController();
    if (!isNewThread) return;
    this.#credit = 0;
  }

  /** A delivery was parked, because work on it ended the process too often. */
  poisoned(stored: StoredDelivery): void {
    const { code = "poison", message = "" } = stored.reason ?? {};
    // Its state before that was recorded.
    const before = { ...stored, attempts: stored.attempts - 1 };
    tellRecorded(this.options, jobOf(before), park("dead", code, message));
  }

  failed(error: unknown): void {
    this.options.onError(error);
  }

  worked(ms: number): void {
    this.#working--;
    this.#prefetched.noteDuration(ms);
    this.#beginSoon();
  }

  ended(run: Run): void {
    this.#running.delete(run);
  }

  /** Begins in a later tick, so that what was stored is answered first. */
  #beginSoon(): void {
    if (this.#working < this.options.concurrency) {
      this.#beginning ??= setImmediate(() => this.#begin());
    }
  }

  #begin(): void {
    this.#beginning = undefined;
    while (this.#working < this.options.concurrency) {
      const leased = this.#prefetched.shift();
      if (leased === undefined) return;
      this.#working++;
      const run = new Run(this, leased);
      this.#running.add(run);
      run.start();
    }
  }

  /** Requeues deliveries that have not begun. */
  #requeue(): void {
    clearImmediate(this.#beginning);
    this.#beginning = undefined;
    for (const leased of this.#prefetched.clear()) {
      const run = new Run(this, leased);
      this.#running.add(run);
      run.requeue();
    }
  }

  #sleep(): void {
    if (this.#due !== null) this.options.clock.clearTimeout(this.#due.timer);
    this.#due = null;
  }
}
