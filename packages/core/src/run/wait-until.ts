import type { FetchContext } from "../http/incoming.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import { isTiedToRequests } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import { firstOf } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Instrumentation } from "../observe/instrumentation.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/** A request that waits for the first attempt to handle its delivery. */
interface Waiter {
  readonly over: Promise<void>;
  readonly end: () => void;
}

const waitMaxMs = 25_000;

/** Requests with a `waitUntil`, as serverless hosts pass it: each waits for the first attempt to handle its delivery. */
export class WaitUntil implements Instrumentation {
  readonly #settings: Pick<ReceiverSettings, "oncePerMinute">;
  readonly #waiters = new Map<string, Waiter>();

  constructor(settings: Pick<ReceiverSettings, "oncePerMinute">) {
    this.#settings = settings;
  }

  /**
   * Keeps the instance alive until a request is decided and its delivery had its first attempt to be handled, or none is to come,
   * for 25 seconds at most.
   */
  keepAlive(context: FetchContext, id: string, deciding: Promise<unknown>): void {
    const work = Promise.allSettled([deciding, this.#wait(id)]);
    // It may be asynchronous, and fail later.
    const waiting = async () => context.waitUntil?.(work);
    waiting().catch((error: unknown) => {
      const { oncePerMinute } = this.#settings;
      oncePerMinute.error({ error: describe(error) }, messages.waitUntilFailed);
    });
  }

  async #wait(id: string): Promise<void> {
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
