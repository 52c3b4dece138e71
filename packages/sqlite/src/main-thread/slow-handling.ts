import { setTimeout } from "node:timers";
import type { Run } from "./run.ts";

/** A verdict waits for the result of handling for one or two of these times, in milliseconds: a crash until then loses the verdict. */
const momentMs = 10;

/** Records the verdict alone when handling takes longer than a moment of real time. */
export class SlowHandling {
  readonly #runs: Iterable<Run>;
  /** The runs whose verdict was not recorded at the last look. */
  #seen: ReadonlySet<Run> = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(runs: Iterable<Run>) {
    this.#runs = runs;
  }

  /** Watches the runs, after the handling of one has begun. */
  watch(): void {
    this.#timer ??= setTimeout(() => this.#check(), momentMs).unref();
  }

  #check(): void {
    this.#timer = undefined;
    const unrecorded = [...this.#runs].filter(({ isVerdictUnrecorded }) => isVerdictUnrecorded);
    for (const run of unrecorded) if (this.#seen.has(run)) run.recordVerdict();
    this.#seen = new Set(unrecorded);
    if (unrecorded.length > 0) this.watch();
  }
}
