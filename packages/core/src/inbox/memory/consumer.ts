import { StopController } from "../../lib/abort.ts";
import { quietTimeout } from "../../lib/clock.ts";
import { describe } from "../../lib/describe.ts";
import { realTimers } from "../../lib/real-timers.ts";
import { again, stopped as cutOff, type Job, type Outcome } from "../delivery.ts";
import type { Consumer, Policy, Work } from "../inbox.ts";
import { jobOf, type Kept } from "../stored-delivery.ts";
import type { MemoryQueue } from "./queue.ts";

/** Records what became of work. */
type Finish = (kept: Kept, outcome: Outcome, startedAt: number, now: number) => void;

const inARow = 100;

/** Hands out what is due, as many at once as the policy allows. */
export function consumeMemory(
  queue: MemoryQueue<Kept>,
  finish: Finish,
  work: Work,
  policy: Policy,
): Consumer {
  const { clock, concurrency, onError, onRecorded } = policy;
  const controller = new StopController();
  const { signal } = controller;
  const running = new Map<Promise<void>, () => void>();
  // Without a limit each is handed out as it comes.
  const mostInARow = Number.isFinite(concurrency) ? inARow : concurrency;
  let stopped = false;
  let scheduled = false;
  let handedOut = 0;
  let breathing = false;
  let due: { readonly at: number; readonly timer: unknown } | undefined;

  function pump(): void {
    scheduled = false;
    while (!stopped && running.size < concurrency) {
      if (handedOut === mostInARow) {
        breathe();
        return;
      }
      const kept = queue.pop(clock.now());
      if (kept === undefined) break;
      handedOut++;
      run(kept);
    }
    // With every place taken, the next one to end wakes it.
    if (!stopped && running.size < concurrency) wakeWhenDue();
  }

  function breathe(): void {
    breathing = true;
    // A real turn of the event loop: a backlog must let it breathe on a virtual clock too.
    (realTimers.immediate ?? realTimers.later)(() => {
      breathing = false;
      handedOut = 0;
      pump();
    });
  }

  function wake(): void {
    if (scheduled || stopped || breathing) return;
    scheduled = true;
    queueMicrotask(pump);
  }

  function wakeWhenDue(): void {
    const at = queue.nextDueAt;
    if (due?.at === at) return;
    sleep();
    if (at === undefined) return;
    const timer = quietTimeout(
      clock,
      () => {
        due = undefined;
        wake();
      },
      at - clock.now(),
    );
    due = { at, timer };
  }

  function sleep(): void {
    if (due !== undefined) clock.clearTimeout(due.timer);
    due = undefined;
  }

  function run(kept: Kept): void {
    const startedAt = clock.now();
    const job = jobOf(kept);
    let giveBack = (): void => {};
    const outcome = new Promise<Outcome>((resolve) => {
      giveBack = () => resolve(cutOff);
      // In a turn of its own: work that stops its own consumer is waited for, too.
      void Promise.resolve(job).then(attempt).then(resolve);
    });
    const ended: Promise<void> = outcome.then((outcome) => {
      running.delete(ended);
      finish(kept, outcome, startedAt, clock.now());
      onRecorded?.(job, outcome);
      wake();
    });
    running.set(ended, giveBack);
  }

  async function attempt(job: Job): Promise<Outcome> {
    try {
      return await work(job, signal);
    } catch (error) {
      if (!signal.aborted) onError(error);
      return again(1_000, describe(error), { counts: true });
    }
  }

  async function stop(): Promise<void> {
    if (!stopped) {
      stopped = true;
      queue.listeners.delete(wake);
      sleep();
    }
    await Promise.all(running.keys());
  }

  queue.listeners.add(wake);
  wake();
  return {
    stop,
    async abort() {
      const stopping = stop();
      controller.abort(new Error("The receiver is closing"));
      for (const giveBack of running.values()) giveBack();
      await stopping;
    },
    get running() {
      return running.size;
    },
  };
}
