import { type Abortable, onAbort, type StopSignal } from "../abort.ts";
import { type Clock, setUnrefTimeout, type Timers } from "./clock.ts";
import { realClock } from "./real-timers.ts";

/** Time limit of an operation. */
export interface TimeoutOptions {
  readonly clock: Timers;
  readonly ms: number;
  /** The error when the time is used up, or its message. */
  readonly late: string | (() => Error);
  /** Ends it early. */
  readonly parent?: StopSignal | undefined;
  /** Whether the limit alone keeps the process alive. */
  readonly keepsAlive?: boolean;
}

/** State of the limit, for the operation that it limits. */
export interface TimeoutScope {
  /** Whether the limit is reached. */
  readonly over: boolean;
  /** Aborted when it is; made at the first use, because most operations use none and it costs as much as the rest. */
  readonly signal: AbortSignal;
  /** Aborts the signal, for work that is no longer needed: the operation goes on. */
  stop(): void;
}

/** A timer that comes so many milliseconds too late shows that the event loop stood still. */
const overdueMs = 1_000;
/** Milliseconds more for a limit that passed meanwhile, to read answers that came. */
const graceMs = 1_000;

const scopeOf = Symbol("scope");
const signal: PropertyDescriptor & ThisType<{ readonly [scopeOf]: Pick<TimeoutScope, "signal"> }> =
  {
    enumerable: true,
    configurable: true,
    get() {
      return this[scopeOf].signal;
    },
  };

/**
 * Adds the signal of a limit to an argument; it is made at its first use. All share one getter: for each object literal with a
 * getter V8 makes a separate shape, which keeps all that the getter refers to in memory until the next major collection.
 */
export function withSignal<T extends object>(
  scope: Pick<TimeoutScope, "signal">,
  argument: T,
): T & { readonly signal: AbortSignal } {
  // Not a private field: the argument may be wrapped in a proxy, or be the prototype of another object.
  Object.defineProperty(argument, scopeOf, { value: scope });
  return Object.defineProperty(argument, "signal", signal) as T & { readonly signal: AbortSignal };
}

/** Runs `run` with a time limit. At the limit it rejects immediately, and aborts the signal of `run`. */
export function withTimeout<T>(
  options: TimeoutOptions,
  run: (scope: TimeoutScope) => T | Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const { parent } = options;
    if (parent?.aborted) throw parent.reason;
    const limit = new Limit(options, reject);
    try {
      Promise.resolve(run(limit)).then(
        (value) => {
          limit.clear();
          resolve(value);
        },
        (error: unknown) => limit.fail(error),
      );
    } catch (error) {
      limit.fail(error);
    }
  });
}

/** Resolves once `work` has ended, after so many milliseconds of real time, or when `end` aborts. */
export async function firstOf(work: Promise<unknown>, ms: number, end?: StopSignal): Promise<void> {
  const limit = { clock: realClock, ms, late: "", parent: end };
  await withTimeout(limit, () => work).catch(() => {});
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

/** One operation's limit: an object, because closures for each of its ends cost more than most operations. */
class Limit implements TimeoutScope, Abortable {
  over = false;
  place = -1;
  readonly #options: TimeoutOptions;
  readonly #reject: (error: unknown) => void;
  #timer: unknown;
  readonly #siblings: ReturnType<typeof onAbort> | undefined;
  #reason: unknown;
  #controller: AbortController | undefined;

  constructor(options: TimeoutOptions, reject: (error: unknown) => void) {
    const { ms, parent } = options;
    this.#options = options;
    this.#reject = reject;
    this.#arm(ms);
    this.#siblings = parent && onAbort(parent, this);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.over) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  stop(): void {
    this.#controller?.abort();
  }

  clear(): void {
    this.#options.clock.clearTimeout(this.#timer);
    this.#siblings?.delete(this);
  }

  fail(error: unknown): void {
    this.clear();
    this.#reject(error);
  }

  /** Its parent has aborted. */
  abort(): void {
    this.#end(this.#options.parent?.reason);
  }

  /** The time in which the event loop stands still is not the operation's. */
  #arm(ms: number): void {
    const { clock, late, keepsAlive } = this.#options;
    const since = performance.now();
    const outOfTime = (): void => {
      if (performance.now() - since - ms > overdueMs) this.#arm(graceMs);
      else this.#end(typeof late === "string" ? new Error(late) : late());
    };
    this.#timer = keepsAlive
      ? clock.setTimeout(outOfTime, ms)
      : setUnrefTimeout(clock, outOfTime, ms);
  }

  #end(reason: unknown): void {
    this.fail(reason);
    this.over = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
