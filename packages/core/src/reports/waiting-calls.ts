import { setUnrefTimeout } from "../lib/time/clock.ts";
import { realClock } from "../lib/time/real-timers.ts";

/** The calls that wait for the end of a request. */
export class WaitingCalls {
  readonly #looks = new Set<() => void>();

  /** Has all look again. */
  readonly wake = (): void => {
    for (const look of [...this.#looks]) look();
  };

  /** Resolves after so many milliseconds of real time, when the signal is aborted, or when all are to look. */
  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        realClock.clearTimeout(timer);
        signal?.removeEventListener("abort", look);
        this.#looks.delete(look);
        resolve();
      };
      const timer = setUnrefTimeout(realClock, look, ms);
      signal?.addEventListener("abort", look);
      this.#looks.add(look);
    });
  }
}
