import { type Clock, quietTimeout } from "./clock.ts";
import { type Stage, signatureLifetimeMs } from "./delivery.ts";
import { Heap } from "./heap.ts";

/** What a queue needs to know of what waits in it. */
export interface Waiting {
  readonly receivedAt: number;
  /** Milliseconds since the epoch; not handed out before. */
  readonly dueAt: number;
  readonly giveWay: boolean;
  /** Changes at every push: older places in the queue are void. */
  readonly ticket: number;
}

/**
 * What waits for one stage of one receiver. To be verified: the oldest first while its signature may be valid, then
 * those past it and those that give way. To be handled: in the order in which they came due.
 */
export class MemoryQueue<T extends Waiting> {
  readonly #stage: Stage;
  readonly #first = new Heap<Place<T>>();
  readonly #last = new Heap<Place<T>>();
  readonly #later = new Heap<Place<T>>();
  #timer: { readonly clock: Clock; readonly handle: unknown; readonly at: number } | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  push(value: T, now: number): void {
    const place = { value, ticket: value.ticket };
    if (value.dueAt > now) this.#later.push(value.dueAt, place);
    else this.#ready(place);
  }

  /** The next that is due, or undefined. */
  pop(now: number): T | undefined {
    while ((this.#later.rank ?? Number.POSITIVE_INFINITY) <= now) {
      const place = this.#later.pop();
      if (place !== undefined) this.#ready(place);
    }
    for (;;) {
      const place = this.#first.pop() ?? this.#last.pop();
      if (place === undefined) return undefined;
      const { value, ticket } = place;
      if (value.ticket !== ticket) continue;
      const late = this.#stage === "verify" && now - value.receivedAt >= signatureLifetimeMs;
      if (!late || this.#first.size === 0) return value;
      this.#last.push(value.receivedAt, place);
    }
  }

  /** Calls `wake` when the next one comes due; an earlier call is forgotten. */
  whenDue(clock: Clock, wake: () => void): void {
    const at = this.#later.rank;
    if (this.#timer !== undefined && this.#timer.at === at) return;
    this.cancel();
    if (at === undefined) return;
    const run = (): void => {
      this.#timer = undefined;
      wake();
    };
    this.#timer = { clock, at, handle: quietTimeout(clock, run, at - clock.now()) };
  }

  /** Forgets the call of {@link whenDue}. */
  cancel(): void {
    this.#timer?.clock.clearTimeout(this.#timer.handle);
    this.#timer = undefined;
  }

  #ready(place: Place<T>): void {
    const { receivedAt, dueAt, giveWay } = place.value;
    if (giveWay) this.#last.push(receivedAt, place);
    else this.#first.push(this.#stage === "verify" ? receivedAt : dueAt, place);
  }
}

interface Place<T> {
  readonly value: T;
  readonly ticket: number;
}
