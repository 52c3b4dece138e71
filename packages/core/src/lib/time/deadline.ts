import { setUnrefTimeout, type Timers } from "./clock.ts";
import type { ReceiverClock } from "./lived-clock.ts";

/**
 * The time that one request has: the timers of its steps, one step at a time. They share one timer, because a timer costs as much as
 * hashing a body, and it knows what has passed when the clock is set back between two steps.
 */
export class Deadline implements Timers {
  /** Milliseconds that it has in all. */
  readonly ms: number;
  readonly #clock: ReceiverClock;
  readonly #startedAt: number;
  #timer: unknown;
  #firesAt = 0;
  #lateAt = 0;
  #late: (() => void) | undefined;

  /** `ms` milliseconds from now on. */
  constructor(clock: ReceiverClock, ms: number) {
    this.#clock = clock;
    this.#startedAt = clock.running();
    this.ms = ms;
  }

  /** Milliseconds since it began. */
  get elapsedMs(): number {
    return this.#clock.running() - this.#startedAt;
  }

  /** Milliseconds, never more than there were; below zero when it is over. */
  get leftMs(): number {
    return this.#left(this.ms, this.#clock.running());
  }

  /** Settles as `step` does, or resolves to `"late"` when `ms` milliseconds or all are over. */
  race<T>(step: Promise<T>, ms: number = this.ms): Promise<T | "late"> {
    return new Promise((resolve, reject) => {
      const now = this.#clock.running();
      this.#set(() => resolve("late"), this.#left(ms, now), now);
      step.then(resolve, reject);
    });
  }

  setTimeout(callback: () => void, ms: number): unknown {
    this.#set(callback, ms, this.#clock.running());
    return callback;
  }

  /** A step that ends late clears its own timer, not that of the step after it. */
  clearTimeout(timer: unknown): void {
    if (this.#late === timer) this.#late = undefined;
  }

  /** Ends the deadline, once the request is answered. */
  end(): void {
    this.#clock.clearTimeout(this.#timer);
  }

  #set(callback: () => void, ms: number, now: number): void {
    this.#late = callback;
    this.#lateAt = now + ms;
    if (this.#timer === undefined || this.#lateAt < this.#firesAt) this.#arm(ms);
  }

  #left(most: number, now: number): number {
    return Math.min(most, this.#startedAt + this.ms - now);
  }

  #arm(ms: number): void {
    this.#clock.clearTimeout(this.#timer);
    this.#firesAt = this.#lateAt;
    this.#timer = setUnrefTimeout(this.#clock, () => this.#fire(), ms);
  }

  #fire(): void {
    this.#timer = undefined;
    // The timer may be early.
    const left = this.#lateAt - this.#clock.running();
    if (left > 0) this.#arm(left);
    else this.#late?.();
  }
}
