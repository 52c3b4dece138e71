import { StopController } from "../../lib/abort.ts";
import { setUnrefTimeout } from "../../lib/clock.ts";
import { describe } from "../../lib/describe.ts";
import { realTimers } from "../../lib/real-timers.ts";
import { stopped as cutOff, type Job, type Outcome, retryIn } from "../delivery.ts";
import type { ConsumeOptions, Consumer, Processor } from "../inbox.ts";
import { jobOf, type StoredDelivery } from "../stored-delivery.ts";
import { applyOutcome } from "../transitions.ts";
import type { MemoryQueue } from "./queue.ts";

const inARow = 100;

/** The changes that a consumer makes to the deliveries of its inbox. */
export interface DeliveryChanges<T extends StoredDelivery> {
  /** Changes a delivery, and the counts. */
  change(kept: T, change: () => void): void;
  /** Queues a delivery by its state. */
  place(kept: T, now: number): void;
}

/** Claims due deliveries, up to the concurrency of the options. */
export function consumeMemory<T extends StoredDelivery>(
  queue: MemoryQueue<T>,
  deliveries: DeliveryChanges<T>,
  processor: Processor,
  options: ConsumeOptions,
): Consumer {
  // Read once: there are no leases that others could use, and the receiver bounds its handlers itself.
  const { clock, concurrency, onError, onRecorded, handleAtOnce } = options;
  const controller = new StopController();
  const { signal } = controller;
  const running = new Set<(outcome: Outcome) => void>();
  // Without a limit on the concurrency, a backlog is claimed in one tick.
  const handedOutMax = Number.isFinite(concurrency) ? inARow : concurrency;
  const whenEnded: (() => void)[] = [];
  let stopped = false;
  let pumping = false;
  let handedOut = 0;
  /** The number of running jobs, without those handled right after their verdict. */
  let atWork = 0;
  let due: { readonly at: number; readonly timer: unknown } | undefined;

  function wake(): void {
    if (pumping || stopped) return;
    pumping = true;
    queueMicrotask(pump);
  }

  function pump(): void {
    while (!stopped && atWork < concurrency) {
      if (handedOut === handedOutMax) {
        handedOut = 0;
        // A real turn of the event loop: a backlog must let it breathe on a virtual clock too.
        (realTimers.immediate ?? realTimers.later)(pump);
        return;
      }
      const kept = queue.pop(clock.now());
      if (kept === undefined) break;
      handedOut++;
      atWork++;
      const job = jobOf(kept);
      run(kept, job, () => processor(job, signal));
    }
    pumping = false;
    // At full concurrency the next one to end wakes it.
    if (!stopped && atWork < concurrency) sleepUntil(queue.nextDueAt);
  }

  function sleepUntil(at: number | undefined): void {
    if (due?.at === at) return;
    if (due !== undefined) clock.clearTimeout(due.timer);
    const onDue = (): void => {
      due = undefined;
      wake();
    };
    due =
      at === undefined ? undefined : { at, timer: setUnrefTimeout(clock, onDue, at - clock.now()) };
  }

  function run(kept: T, job: Job, process: () => Promise<Outcome>): void {
    const startedAt = clock.now();
    let isOver = false;
    const end = (outcome: Outcome): void => {
      if (isOver) return;
      isOver = true;
      if (job.stage === queue.stage) atWork--;
      const now = clock.now();
      deliveries.change(kept, () => applyOutcome(kept, outcome, startedAt, now));
      // Before it is told: who is told of a parked one may release it at once.
      if (outcome.to !== "verified") deliveries.place(kept, now);
      onRecorded?.(job, outcome);
      if (outcome.to === "verified" && !handle(kept)) deliveries.place(kept, now);
      // Not before: a handler that begins at once may close the receiver, and is waited for.
      running.delete(end);
      if (running.size === 0) for (const resolve of whenEnded.splice(0)) resolve();
      wake();
    };
    running.add(end);
    void attempt(process).then(end);
  }

  /** Handles a delivery right after its verdict, if possible. */
  function handle(kept: T): boolean {
    if (stopped || handleAtOnce === undefined) return false;
    const job = jobOf(kept);
    const handling = handleAtOnce(job, signal);
    if (handling === null) return false;
    run(kept, job, () => handling);
    return true;
  }

  async function attempt(process: () => Promise<Outcome>): Promise<Outcome> {
    // In a separate tick: work that stops its own consumer is waited for, too.
    await null;
    try {
      return await process();
    } catch (error) {
      if (!signal.aborted) onError(error);
      return retryIn(1_000, describe(error), { countsAsAttempt: true });
    }
  }

  async function stop(): Promise<void> {
    stopped = true;
    queue.listeners.delete(wake);
    sleepUntil(undefined);
    if (running.size > 0) await new Promise<void>((resolve) => whenEnded.push(resolve));
  }

  function abort(): Promise<void> {
    const stopping = stop();
    controller.abort(new Error("The receiver is closing"));
    for (const end of running) end(cutOff);
    return stopping;
  }

  queue.listeners.add(wake);
  wake();
  return {
    ...{ stop, abort },
    get running() {
      return running.size;
    },
  };
}
