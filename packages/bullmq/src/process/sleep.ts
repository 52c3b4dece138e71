import { clearTimeout, setTimeout } from "node:timers";

/** Waits that can all be ended early. */
export class Sleep {
  readonly #sleepers = new Set<() => void>();

  /** Resolves after `ms` milliseconds, or when all are woken. Keeps no process alive. */
  for(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms).unref();
      this.#sleepers.add(wake);
    });
  }

  wakeAll(): void {
    for (const wake of this.#sleepers) wake();
  }
}
