import { onAbort, type StopSignal } from "./abort.ts";
import { type Clock, setUnrefTimeout } from "./clock.ts";

/** Time limit of an operation. */
export interface TimeoutOptions {
  readonly clock: Clock;
  readonly ms: number;
  /** The error when the time is used up, or its message. */
  readonly late: string | (() => Error);
  /** Ends it early. */
  readonly parent?: StopSignal | undefined;
}

/** State of the limit, for the operation that it limits. */
export interface TimeoutScope {
  /** Whether the limit is reached. */
  readonly over: boolean;
  /** Aborted when it is; made at the first use, because most operations use none and it costs as much as the rest. */
  readonly signal: AbortSignal;
}

/** Runs `run` with a time limit. At the limit it rejects immediately, and aborts the signal of `run`. */
export function withTimeout<T>(
  { clock, ms, late, parent }: TimeoutOptions,
  run: (scope: TimeoutScope) => T | Promise<T>,
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
    const timer = setUnrefTimeout(clock, outOfTime, ms);
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

/** Resolves to whether `work` is done after at most `ms` milliseconds; keeps the process alive until then. */
export async function settlesWithin(
  clock: Clock,
  ms: number,
  work: Promise<unknown>,
): Promise<boolean> {
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

class Ending implements TimeoutScope {
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
