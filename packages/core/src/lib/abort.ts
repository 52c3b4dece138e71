/** The cancellation signal of a running job; an `AbortSignal` is one. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
}

/** An `AbortController` for what outlives a request: Workers tie a real one to the request in which it was made. */
export class StopController {
  readonly #listeners: (() => void)[] = [];
  readonly #signal: { -readonly [Name in keyof StopSignal]: StopSignal[Name] } = {
    aborted: false,
    reason: undefined,
    addEventListener: (_type, listener) => void this.#listeners.push(listener),
  };

  get signal(): StopSignal {
    return this.#signal;
  }

  /** Idempotent. */
  abort(reason: unknown): void {
    if (this.#signal.aborted) return;
    this.#signal.aborted = true;
    this.#signal.reason = reason;
    for (const listener of this.#listeners) listener();
  }
}

const waiting = new WeakMap<StopSignal, Set<() => void>>();

/**
 * Calls `call` once when `signal` aborts; returns a function that takes it back. The signal has one listener for all callers:
 * Node warns of a leak from the eleventh on.
 */
export function onAbort(signal: StopSignal, call: () => void): () => void {
  if (signal.aborted) {
    call();
    return () => {};
  }
  const calls = waiting.get(signal) ?? listen(signal);
  calls.add(call);
  return () => calls.delete(call);
}

function listen(signal: StopSignal): Set<() => void> {
  const calls = new Set<() => void>();
  waiting.set(signal, calls);
  signal.addEventListener("abort", () => {
    for (const call of calls) call();
  });
  return calls;
}
