import type { Job, Outcome } from "../inbox/delivery.ts";
import { isTiedToRequests } from "../lib/platform.ts";
import { firstOf } from "../lib/time/timeout.ts";
import type { Instrumentation } from "../observe/instrumentation.ts";

/** A request that waits for the first attempt to handle its delivery. */
interface Waiter {
  readonly over: Promise<void>;
  readonly end: () => void;
}

const waitMaxMs = 25_000;

/** Requests with a `waitUntil`, as serverless hosts pass it: each waits for the first attempt to handle its delivery. */
export class WaitUntil implements Instrumentation {
  readonly #waiters = new Map<string, Waiter>();

  /** Resolves after the first attempt to handle this delivery, when none is to come, or after 25 seconds. */
  async wait(id: string): Promise<void> {
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#waiters.set(id, { over, end });
    // This request may run the retry of another delivery, which would end with it.
    const others = () => Promise.all([...this.#waiters.values()].map((waiter) => waiter.over));
    const ended: Promise<unknown> = isTiedToRequests() ? over.then(others) : over;
    await firstOf(ended, waitMaxMs);
    this.stop(id);
  }

  /** Ends the wait for a delivery: its first attempt is over, or none will come. */
  stop(id: string): void {
    // To look an id up, V8 has to hash it.
    if (this.#waiters.size === 0) return;
    this.#waiters.get(id)?.end();
    this.#waiters.delete(id);
  }

  settled({ id, stage }: Job, { to }: Outcome): void {
    const goesOn = to === "verified" || to === "retry";
    if (stage === "handle" || !goesOn) this.stop(id);
  }

  /** No attempt will come. */
  end(): void {
    for (const id of this.#waiters.keys()) this.stop(id);
  }
}
