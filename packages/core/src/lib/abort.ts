import { InFlight, type InFlightItem } from "./in-flight.ts";

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

/** Work that ends when a signal aborts. */
export interface Abortable extends InFlightItem {
  abort(): unknown;
}

const abortables = new WeakMap<StopSignal, InFlight<Abortable>>();

/**
 * Tells `one` once when `signal` aborts; returns what to delete it from so that it is not. The signal has one listener for all:
 * Node warns of a leak from the eleventh on.
 */
export function onAbort(signal: StopSignal, one: Abortable): InFlight<Abortable> {
  const all = abortables.get(signal) ?? listen(signal);
  if (signal.aborted) one.abort();
  else all.add(one);
  return all;
}

function listen(signal: StopSignal): InFlight<Abortable> {
  const all = new InFlight<Abortable>();
  abortables.set(signal, all);
  signal.addEventListener("abort", () => {
    for (const one of all) if (all.delete(one)) one.abort();
  });
  return all;
}
