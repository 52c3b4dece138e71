import { StopController } from "../../lib/abort.ts";
import { InFlight, type InFlightItem } from "../../lib/in-flight.ts";
import { describe } from "../../lib/text/describe.ts";
import { setUnrefTimeout } from "../../lib/time/clock.ts";
import { realClock } from "../../lib/time/real-timers.ts";
import { cutOff, type Job, type Outcome, retryIn } from "../delivery.ts";
import type { ConsumeOptions, Consumer, Lease, Processor } from "../inbox.ts";
import { type Notices, tellRecorded } from "../notices.ts";
import { jobOf } from "../stored-delivery.ts";
import type { MemoryDelivery } from "./dedupe-window.ts";
import type { MemoryQueue } from "./queue.ts";

const inARow = 100;

/** Records the outcome of an attempt that began at `startedAt`: the delivery goes where that says. */
export type RecordOutcome = (stored: MemoryDelivery, outcome: Outcome, startedAt: number) => void;

/** A job that runs. */
interface Run extends InFlightItem {
  readonly stored: MemoryDelivery;
  readonly job: Job;
  readonly startedAt: number;
}

/**
 * Claims due deliveries, up to the concurrency of the options. It does not use `handleAtOnce`: there are no records to save, and
 * a queue in memory costs less than a wait for a slot.
 */
export class MemoryConsumer implements Consumer {
  readonly #queue: MemoryQueue;
  readonly #record: RecordOutcome;
  readonly #processor: Processor;
  readonly #options: ConsumeOptions;
  readonly #notices: Notices;
  readonly #controller = new StopController();
  /** Of every job: no other process can take one. */
  readonly #lease: Lease = { signal: this.#controller.signal, isHeld: () => true };
  readonly #running = new InFlight<Run>();
  #stopped = false;
  #pumping = false;
  #claimedInARow = 0;
  #due: { readonly at: number; readonly timer: unknown } | undefined;

  constructor(
    queue: MemoryQueue,
    record: RecordOutcome,
    processor: Processor,
    options: ConsumeOptions,
    notices: Notices,
  ) {
    this.#queue = queue;
    this.#record = record;
    this.#processor = processor;
    this.#options = options;
    this.#notices = notices;
    notices.add(options);
    queue.listeners.add(this.#wake);
    this.#wake();
  }

  get running(): number {
    return this.#running.size;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queue.listeners.delete(this.#wake);
    this.#notices.remove(this.#options);
    this.#sleepUntil(undefined);
    await this.#running.emptied();
  }

  abort(): Promise<void> {
    const stopping = this.stop();
    this.#controller.abort(new Error("The receiver is closing"));
    for (const run of this.#running) this.#end(run, cutOff);
    return stopping;
  }

  readonly #wake = (): void => {
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    queueMicrotask(this.#pump);
  };

  readonly #pump = (): void => {
    const { clock, concurrency } = this.#options;
    // Without a limit on the concurrency, a backlog is claimed in one tick.
    const inARowMax = Number.isFinite(concurrency) ? inARow : concurrency;
    const now = clock.now();
    while (!this.#stopped && this.#running.size < concurrency) {
      if (this.#claimedInARow === inARowMax) {
        this.#claimedInARow = 0;
        // A real turn of the event loop: a backlog must let it breathe on a virtual clock too.
        (realClock.immediate ?? realClock.later)(this.#pump);
        return;
      }
      const stored = this.#queue.pop(now, clock.knownSince);
      if (stored === undefined) break;
      this.#claimedInARow++;
      this.#run(stored);
    }
    this.#pumping = false;
    // At full concurrency the next one to end wakes it.
    if (!this.#stopped && this.#running.size < concurrency) this.#sleepUntil(this.#queue.nextDueAt);
  };

  #sleepUntil(at: number | undefined): void {
    const { clock } = this.#options;
    if (this.#due?.at === at) return;
    if (this.#due !== undefined) clock.clearTimeout(this.#due.timer);
    const onDue = (): void => {
      this.#due = undefined;
      this.#wake();
    };
    this.#due =
      at === undefined ? undefined : { at, timer: setUnrefTimeout(clock, onDue, at - clock.now()) };
  }

  #run(stored: MemoryDelivery): void {
    const run = { stored, job: jobOf(stored), startedAt: this.#options.clock.now(), place: -1 };
    this.#running.add(run);
    void this.#attempt(run.job).then((outcome) => this.#end(run, outcome));
  }

  async #attempt(job: Job): Promise<Outcome> {
    try {
      return await this.#processor(job, this.#lease);
    } catch (error) {
      if (!this.#lease.signal.aborted) this.#options.onError(error);
      return retryIn(1_000, describe(error), { countsAsAttempt: true });
    }
  }

  #end(run: Run, outcome: Outcome): void {
    // False once it is aborted.
    if (!this.#running.delete(run)) return;
    // Before it is told: who is told of a parked one may release it at once.
    this.#record(run.stored, outcome, run.startedAt);
    tellRecorded(this.#options, run.job, outcome);
    this.#wake();
  }
}
