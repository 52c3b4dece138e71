import type { Job, Outcome } from "./delivery.ts";
import { again } from "./delivery.ts";
import { describe } from "./errors.ts";
import type { Consumer, Policy, Work } from "./inbox.ts";
import type { MemoryQueue, Waiting } from "./memory-queue.ts";

/** The sides of an inbox that a consumer works between. */
export interface Source<T extends Waiting> {
  readonly queue: MemoryQueue<T>;
  /** Called with a wake-up that the source calls whenever something was pushed; returns how to end that. */
  listen(wake: () => void): () => void;
  start(value: T): Job;
  finish(value: T, outcome: Outcome, startedAt: number, now: number): void;
}

/** Hands out what is due, as many at once as the policy allows. */
export function consumeMemory<T extends Waiting>(
  source: Source<T>,
  work: Work,
  policy: Policy,
): Consumer {
  const { clock, concurrency, onError } = policy;
  const controller = new AbortController();
  const running = new Set<Promise<void>>();
  let stopped = false;
  let scheduled = false;

  function pump(): void {
    scheduled = false;
    while (!stopped && running.size < concurrency) {
      const value = source.queue.pop(clock.now());
      if (value === undefined) break;
      const run: Promise<void> = runOne(value).finally(() => {
        running.delete(run);
        wake();
      });
      running.add(run);
    }
    if (!stopped) source.queue.whenDue(clock, wake);
  }

  function wake(): void {
    if (scheduled || stopped) return;
    scheduled = true;
    queueMicrotask(pump);
  }

  async function runOne(value: T): Promise<void> {
    const startedAt = clock.now();
    let outcome: Outcome;
    try {
      outcome = await work(source.start(value), controller.signal);
    } catch (error) {
      onError(error);
      outcome = again(1_000, describe(error), { counts: true });
    }
    source.finish(value, outcome, startedAt, clock.now());
  }

  const unlisten = source.listen(wake);
  wake();
  return {
    async stop() {
      if (!stopped) {
        stopped = true;
        unlisten();
        source.queue.cancel();
      }
      await Promise.all(running);
    },
    async abort() {
      controller.abort(new Error("The receiver is closing"));
      await this.stop();
    },
    get running() {
      return running.size;
    },
  };
}
