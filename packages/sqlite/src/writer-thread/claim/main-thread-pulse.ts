/** Milliseconds between two upkeeps of the thread, which looks at each: twice for each count. */
export const upkeepMs: number = 500;
const looksUntilSilent = 4;
const looksUntilStandstill = 10;

/** The pulse of the main thread, as the writer's thread sees it at each upkeep. */
export class MainThreadPulse {
  readonly #count: Int32Array;
  #last = 0;
  #looks = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#count = new Int32Array(memory);
  }

  /** Looks whether it was counted up since. */
  look(): void {
    const count = Atomics.load(this.#count, 0);
    this.#looks = count === this.#last ? this.#looks + 1 : 0;
    this.#last = count;
  }

  /** Notes that it has sent something. */
  hasSent(): void {
    this.#looks = 0;
  }

  /** Whether it answers: false after 2 seconds. */
  get answers(): boolean {
    return this.#looks < looksUntilSilent;
  }

  /** Whether its event loop stands still: after 5 seconds. */
  get standsStill(): boolean {
    return this.#looks >= looksUntilStandstill;
  }
}
