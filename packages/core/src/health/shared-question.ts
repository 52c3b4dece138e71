import type { LivedClock } from "../lib/time/lived-clock.ts";

/** A question that is asked once at a time, and again after so many milliseconds without an answer. */
export class SharedQuestion {
  readonly #clock: Pick<LivedClock, "running">;
  readonly #ask: () => Promise<void>;
  readonly #againMs: number;
  #asked: Promise<void> | null = null;
  #askedAt = 0;
  #silentSince: number | null = null;

  constructor(clock: Pick<LivedClock, "running">, againMs: number, ask: () => Promise<void>) {
    this.#clock = clock;
    this.#againMs = againMs;
    this.#ask = ask;
  }

  /** Milliseconds without an answer. */
  get silentMs(): number {
    return this.#silentSince === null ? 0 : this.#clock.running() - this.#silentSince;
  }

  answer(): Promise<void> {
    const now = this.#clock.running();
    if (this.#asked !== null && now - this.#askedAt < this.#againMs) return this.#asked;
    this.#askedAt = now;
    this.#silentSince ??= now;
    this.#asked = this.#ask().finally(() => {
      this.#asked = null;
      this.#silentSince = null;
    });
    return this.#asked;
  }
}
