import { setUnrefTimeout, type Timers } from "./clock.ts";
import type { LivedClock } from "./lived-clock.ts";

type RunningTimers = Timers & Pick<LivedClock, "running">;

/**
 * The time that one request has: the timers of its steps, one step at a time. They share one timer, because a timer costs as much as
 * hashing a body, and it knows what has passed when the clock is set back between two steps.
 */
export class Deadline implements Timers {
  /** Milliseconds that it has in all. */
  readonly ms: number;
  readonly #clock: RunningTimers;
  readonly #startedAt: number;
  readonly #endsAt: number;
  #timer: unknown;
  #firesAt = 0;
  #lateAt = 0;
  #late: (() => void) | undefined;

  constructor(clock: RunningTimers, ms: number) {
    this.#clock = clock;
    this.#startedAt = clock.running();
    this.#endsAt = this.#startedAt + ms;
    this.ms = ms;
  }

  get elapsedMs(): number {
    return this.#clock.running() - this.#startedAt;
  }

  /** Milliseconds, never more than there were; below zero when it is over. */
  get leftMs(): number {
    return Math.min(this.ms, this.#endsAt - this.#clock.running());
  }

  /** Settles as `step` does, or resolves to `"late"` when `ms` milliseconds or all are over. */
  race<T>(step: Promise<T>, ms: number): Promise<T | "late"> {
    return new Promise((resolve, reject) => {
      const lateAt = Math.min(this.#clock.running() + ms, this.#endsAt);
      this.#set(() => resolve("late"), lateAt);
      step.then(resolve, reject);
    });
  }

  /** Settles as `step` does, or rejects when all are over: `who` gave no answer, and `why` says more. */
  within<T>(step: Promise<T>, who: string, why = ""): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = (): void =>
        reject(new Error(`${who} gave no answer within ${this.ms} ms${why}`));
      this.#set(late, this.#endsAt);
      step.then(resolve, reject);
    });
  }

  setTimeout(callback: () => void, ms: number): unknown {
    this.#set(callback, this.#clock.running() + ms);
    return callback;
  }

  /** A step that ends late clears its own timer, not that of the step after it. */
  clearTimeout(timer: unknown): void {
    if (this.#late === timer) this.#late = undefined;
  }

  end(): void {
    this.#clock.clearTimeout(this.#timer);
  }

  #set(callback: () => void, lateAt: number): void {
    this.#late = callback;
    this.#lateAt = lateAt;
    if (this.#timer === undefined || this.#lateAt < this.#firesAt) this.#arm();
  }

  #arm(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#firesAt = this.#lateAt;
    const ms = this.#lateAt - this.#clock.running();
    this.#timer = setUnrefTimeout(this.#clock, () => this.#fire(), ms);
  }

  #fire(): void {
    this.#timer = undefined;
    // The timer may be early.
    if (this.#lateAt > this.#clock.running()) this.#arm();
    else this.#late?.();
  }
}
