import { onAbort } from "./abort.ts";
import { type Clock, quietTimeout } from "./clock.ts";

/** How long something may take. */
export interface Bounds {
  readonly clock: Clock;
  readonly ms: number;
  /** The error when the time is used up, or its message. */
  readonly late: string | (() => Error);
  /** Ends it early. */
  readonly parent?: AbortSignal | undefined;
}

/**
 * Runs `run` within bounds. When they are reached it rejects at once, whatever `run` does, and aborts the signal that
 * `run` was given.
 */
export async function within<T>(
  { clock, ms, late, parent }: Bounds,
  run: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  parent?.throwIfAborted();
  const controller = new AbortController();
  let end = (_reason: unknown): void => {};
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
  });
  ended.catch(() => {});
  const outOfTime = (): void => end(typeof late === "string" ? new Error(late) : late());
  const timer = quietTimeout(clock, outOfTime, ms);
  const undo = parent && onAbort(parent, () => end(parent.reason));
  try {
    return await Promise.race([run(controller.signal), ended]);
  } finally {
    clock.clearTimeout(timer);
    undo?.();
  }
}
