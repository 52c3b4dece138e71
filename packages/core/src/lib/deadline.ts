import { type Clock, setUnrefTimeout } from "./clock.ts";

/** The time that one request has. Its steps share one timer, because a timer costs as much as hashing a body. */
export class Deadline {
  readonly startedAt: number;
  /** Milliseconds that it has in all. */
  readonly ms: number;
  readonly #clock: Clock;
  #timer: unknown;
  #firesAt = 0;
  #lateAt = 0;
  // Of the last step: once that has settled it changes nothing.
  #late: ((late: "late") => void) | undefined;

  /** `ms` milliseconds, counted from `startedAt`. */
  constructor(clock: Clock, startedAt: number, ms: number) {
    this.#clock = clock;
    this.startedAt = startedAt;
    this.ms = ms;
  }

  /** Milliseconds since it began. */
  get elapsedMs(): number {
    return Math.max(0, this.#clock.now() - this.startedAt);
  }

  /** Milliseconds, never more than there were; below zero when it is over. */
  get leftMs(): number {
    return this.#left(this.ms, this.#clock.now());
  }

  /** Settles as `step` does, or resolves to `"late"` when `ms` milliseconds or all are over; one step at a time. */
  race<T>(step: Promise<T>, ms: number = this.ms): Promise<T | "late"> {
    return new Promise((resolve, reject) => {
      const now = this.#clock.now();
      const left = this.#left(ms, now);
      this.#late = resolve;
      this.#lateAt = now + left;
      if (this.#timer === undefined || this.#lateAt < this.#firesAt) this.#arm(left);
      step.then(resolve, reject);
    });
  }

  /** Ends the deadline, once the request is answered. */
  end(): void {
    this.#clock.clearTimeout(this.#timer);
  }

  #left(most: number, now: number): number {
    return Math.min(most, this.startedAt + this.ms - now);
  }

  #arm(ms: number): void {
    this.#clock.clearTimeout(this.#timer);
    this.#firesAt = this.#lateAt;
    this.#timer = setUnrefTimeout(this.#clock, () => this.#fire(), ms);
  }

  #fire(): void {
    this.#timer = undefined;
    // The clock alone is not enough, since it may be set back; nor the timer, which may be late.
    const left = this.#lateAt - Math.max(this.#firesAt, this.#clock.now());
    if (left > 0) this.#arm(left);
    else this.#late?.("late");
  }
}
