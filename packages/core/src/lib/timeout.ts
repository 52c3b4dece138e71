import { onAbort, type StopSignal } from "./abort.ts";
import { type Clock, quietTimeout } from "./clock.ts";

/** How long something may take. */
export interface Bounds {
  readonly clock: Clock;
  readonly ms: number;
  /** The error when the time is used up, or its message. */
  readonly late: string | (() => Error);
  /** Ends it early. */
  readonly parent?: StopSignal | undefined;
}

/** What runs within bounds can ask. */
export interface Scope {
  /** Whether the bounds are reached. */
  readonly over: boolean;
  /** Aborted when they are; made when it is first asked for, because most never do and it costs as much as the rest. */
  readonly signal: AbortSignal;
}

/**
 * Runs `run` within bounds. When they are reached it rejects at once, whatever `run` does, and aborts the signal that
 * `run` may have asked for.
 */
export function within<T>(
  { clock, ms, late, parent }: Bounds,
  run: (scope: Scope) => T | Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (parent?.aborted) throw parent.reason;
    const scope = new Ending();
    const end = (reason: unknown): void => {
      done();
      reject(reason);
      scope.end(reason);
    };
    const outOfTime = (): void => end(typeof late === "string" ? new Error(late) : late());
    const timer = quietTimeout(clock, outOfTime, ms);
    const undo = parent && onAbort(parent, () => end(parent.reason));
    const done = (): void => {
      clock.clearTimeout(timer);
      undo?.();
    };
    const failed = (error: unknown): void => {
      done();
      reject(error);
    };
    const succeeded = (value: T): void => {
      done();
      resolve(value);
    };
    try {
      Promise.resolve(run(scope)).then(succeeded, failed);
    } catch (error) {
      failed(error);
    }
  });
}

/** Resolves to whether `work` is done after at most `ms` milliseconds, for which the process is kept alive. */
export async function isDoneIn(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: unknown;
  const late = new Promise<false>((resolve) => {
    timer = clock.setTimeout(() => resolve(false), Math.min(ms, 2_147_483_647));
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clock.clearTimeout(timer);
  }
}

class Ending implements Scope {
  over = false;
  #reason: unknown;
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.over) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  end(reason: unknown): void {
    this.over = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
