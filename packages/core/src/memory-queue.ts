import { type Stage, signatureLifetimeMs } from "./delivery.ts";
import { Heap } from "./heap.ts";

/** What a queue needs to know of what waits in it. */
export interface Waiting {
  readonly receivedAt: number;
  /** Milliseconds since the epoch; not handed out before. */
  readonly dueAt: number;
  readonly giveWay: boolean;
}

/**
 * What waits for one stage of one receiver. To be verified: the oldest first while its signature may be valid, then
 * those past it and those that give way. To be handled: in the order in which they came due.
 */
export class MemoryQueue<T extends Waiting> {
  readonly #stage: Stage;
  readonly #first = new Heap<T>();
  readonly #last = new Heap<T>();
  readonly #later = new Heap<T>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  push(value: T, now: number): void {
    if (value.dueAt > now) this.#later.push(value.dueAt, value);
    else this.#ready(value);
  }

  /** The next that is due, or undefined. */
  pop(now: number): T | undefined {
    while ((this.#later.rank ?? Number.POSITIVE_INFINITY) <= now) {
      const value = this.#later.pop();
      if (value !== undefined) this.#ready(value);
    }
    for (;;) {
      const value = this.#first.pop();
      if (value === undefined) return this.#last.pop();
      const late = this.#stage === "verify" && now - value.receivedAt >= signatureLifetimeMs;
      if (!late) return value;
      this.#last.push(value.receivedAt, value);
    }
  }

  /** When the next one comes due that was not due at the last `pop`. */
  get nextDueAt(): number | undefined {
    return this.#later.rank;
  }

  #ready(value: T): void {
    const { receivedAt, dueAt, giveWay } = value;
    if (giveWay) this.#last.push(receivedAt, value);
    else this.#first.push(this.#stage === "verify" ? receivedAt : dueAt, value);
  }
}
