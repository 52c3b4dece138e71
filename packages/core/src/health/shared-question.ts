/** A question that is asked once at a time, and again after so many milliseconds without an answer. */
export class SharedQuestion {
  readonly #running: () => number;
  readonly #ask: () => Promise<void>;
  readonly #againMs: number;
  #asked: Promise<void> | null = null;
  #askedAt = 0;
  #silentSince: number | null = null;

  constructor(running: () => number, againMs: number, ask: () => Promise<void>) {
    this.#running = running;
    this.#againMs = againMs;
    this.#ask = ask;
  }

  /** Milliseconds without an answer. */
  get silentMs(): number {
    return this.#silentSince === null ? 0 : this.#running() - this.#silentSince;
  }

  answer(): Promise<void> {
    const now = this.#running();
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
