const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `call` once when `signal` aborts; returns how to take that back. However many wait, the signal has one listener:
 * Node warns of a leak from the eleventh on.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  if (signal.aborted) {
    call();
    return () => {};
  }
  const calls = waiting.get(signal) ?? listen(signal);
  calls.add(call);
  return () => calls.delete(call);
}

function listen(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  waiting.set(signal, calls);
  const abort = (): void => {
    for (const call of calls) call();
  };
  signal.addEventListener("abort", abort, { once: true });
  return calls;
}
