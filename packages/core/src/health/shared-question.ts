/** Longer than a server is let count. */
const forgottenMs = 60_000;

/** A question that is asked once at a time, and again when it was forgotten. */
export class SharedQuestion {
  readonly #running: () => number;
  readonly #ask: () => Promise<void>;
  #asked: Promise<void> | null = null;
  #askedAt = 0;
  #silentSince: number | null = null;

  constructor(running: () => number, ask: () => Promise<void>) {
    this.#running = running;
    this.#ask = ask;
  }

  /** Milliseconds without an answer. */
  get silentMs(): number {
    return this.#silentSince === null ? 0 : this.#running() - this.#silentSince;
  }

  answer(): Promise<void> {
    const now = this.#running();
    if (this.#asked !== null && now - this.#askedAt < forgottenMs) return this.#asked;
    this.#askedAt = now;
    this.#silentSince ??= now;
    this.#asked = this.#ask().finally(() => {
      this.#asked = null;
      this.#silentSince = null;
    });
    return this.#asked;
  }
}
