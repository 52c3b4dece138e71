import { InFlight, type InFlightItem } from "./in-flight.ts";

/** The cancellation signal of a running job; an `AbortSignal` is one. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
}

/** An `AbortController` for what outlives a request: Workers tie a real one to the request in which it was made. */
export class StopController {
  readonly #listeners = new Set<() => void>();
  readonly #signal: { -readonly [Name in keyof StopSignal]: StopSignal[Name] } = {
    aborted: false,
    reason: undefined,
    addEventListener: (_type, listener) => void this.#listeners.add(listener),
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

/** Work that ends when a signal aborts. */
export interface Abortable extends InFlightItem {
  abort(): unknown;
}

/**
 * The work that a signal ends. The signal has one listener for all of it, because Node warns of a leak from the eleventh on; an
 * `AbortSignal` has none while nothing waits, because Node keeps one of `AbortSignal.any` as long as it has any.
 */
class Waiting extends InFlight<Abortable> {
  readonly #signal: StopSignal & Partial<Pick<AbortSignal, "removeEventListener">>;
  readonly #listener = (): void => {
    for (const one of this) if (this.delete(one)) one.abort();
  };

  constructor(signal: StopSignal) {
    super();
    this.#signal = signal;
  }

  override add(one: Abortable): void {
    if (this.size === 0) this.#signal.addEventListener("abort", this.#listener);
    super.add(one);
  }

  override delete(one: Abortable): boolean {
    const wasThere = super.delete(one);
    if (wasThere && this.size === 0) this.#signal.removeEventListener?.("abort", this.#listener);
    return wasThere;
  }
}

const waiting = new WeakMap<StopSignal, Waiting>();

/** Tells `one` once when `signal` aborts; returns what to delete it from so that it is not. */
export function onAbort(signal: StopSignal, one: Abortable): InFlight<Abortable> {
  const all = waiting.get(signal) ?? new Waiting(signal);
  waiting.set(signal, all);
  if (signal.aborted) one.abort();
  else all.add(one);
  return all;
}
