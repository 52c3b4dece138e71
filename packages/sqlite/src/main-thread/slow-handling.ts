import type { Clock } from "@reporthook/core";
import { setUnrefTimeout } from "@reporthook/core/store";
import type { Run } from "./run.ts";

/** Milliseconds that a verdict waits for the result of handling; if the process ends before, the service is asked again. */
const momentMs = 20;

/** Records the verdict alone if handling takes longer than a moment. */
export class SlowHandling {
  readonly #runs: Iterable<Run>;
  readonly #clock: Clock;
  #timer: unknown;

  constructor(runs: Iterable<Run>, clock: Clock) {
    this.#runs = runs;
    this.#clock = clock;
  }

  /** Watches a run whose handling has just begun. */
  watch(): void {
    this.#timer ??= setUnrefTimeout(this.#clock, () => this.#check(), momentMs);
  }

  stop(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const run of this.#runs) {
      const since = run.unrecordedSince;
      if (since === null) continue;
      if (now - since >= momentMs) run.recordVerdict();
      else this.watch();
    }
  }
}
