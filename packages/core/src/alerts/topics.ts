/** The next message of a topic: it begins, it is over, or null for none. */
export type Due = "firing" | "resolved" | null;

// Two looks in a row, and a timer may be a little early.
const lastingMs = 25_000;

/** A condition that is reported when it lasts, at most once in a window. */
export class Lasting {
  readonly #windowMs: number;
  #holds = false;
  #changedAt = Number.NEGATIVE_INFINITY;
  #told = false;
  #toldAt = Number.NEGATIVE_INFINITY;
  /** When it began. */
  since = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Notes what a look has shown; null if it can't be known. */
  look(holds: boolean | null, now: number): void {
    if (holds === null || holds === this.#holds) return;
    this.#holds = holds;
    this.#changedAt = now;
    if (holds && !this.#told) this.since = now;
  }

  due(now: number): Due {
    if (this.#holds === this.#told || now - this.#changedAt < lastingMs) return null;
    if (!this.#holds) return "resolved";
    return now - this.#toldAt >= this.#windowMs ? "firing" : null;
  }

  sent(due: Exclude<Due, null>, now: number): void {
    this.#told = due === "firing";
    if (this.#told) this.#toldAt = now;
  }
}

/** Deliveries parked for one reason: counted, and told once there are enough of them in a window. */
export class ParkedFor {
  readonly #windowMs: number;
  readonly #threshold: number;
  #countedSince = 0;
  #isEmpty = false;
  #told = false;
  #toldAt = Number.NEGATIVE_INFINITY;
  /** When the first one was parked. */
  since = 0;
  /** How many were parked and are not told yet. */
  fresh = 0;
  /** How many were parked in all. */
  added = 0;
  /** How many retention has deleted since the alert began. */
  deleted = 0;

  constructor(windowMs: number, threshold: number) {
    this.#windowMs = windowMs;
    this.#threshold = threshold;
  }

  /** Whether it matters how many there are. */
  get isOpen(): boolean {
    return this.#told || this.fresh > 0;
  }

  add(now: number): void {
    const tooFew = this.fresh < this.#threshold;
    if (tooFew && now - this.#countedSince >= this.#windowMs) this.fresh = 0;
    if (this.fresh === 0) this.#countedSince = now;
    if (this.fresh === 0 && !this.#told) this.since = now;
    this.fresh++;
    this.added++;
    this.#isEmpty = false;
  }

  /** All are released or discarded. */
  empty(): void {
    this.fresh = 0;
    this.#isEmpty = true;
  }

  due(now: number): Due {
    if (this.#told && this.#isEmpty) return "resolved";
    const isDue = this.fresh >= this.#threshold && now - this.#toldAt >= this.#windowMs;
    return isDue ? "firing" : null;
  }

  sent(due: Exclude<Due, null>, now: number, count: number): void {
    this.#told = due === "firing";
    if (!this.#told) {
      this.deleted = 0;
      return;
    }
    this.#toldAt = now;
    this.fresh -= count;
  }
}
