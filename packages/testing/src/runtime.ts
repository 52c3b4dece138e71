/** The async context of an app's request. */
export interface Storage {
  run<T>(store: string, run: () => T): T;
  getStore(): string | undefined;
}

/** A module that is built into the runtime; without members where there is none. */
export function builtin<Module extends object>(id: `node:${string}`): Partial<Module> {
  return (globalThis.process?.getBuiltinModule?.(id) ?? {}) as Partial<Module>;
}

/** A fresh `AsyncLocalStorage`, or null where the platform has none. */
export function asyncStorage(): Storage | null {
  const { AsyncLocalStorage } = builtin<{ AsyncLocalStorage: new () => Storage }>(
    "node:async_hooks",
  );
  return AsyncLocalStorage === undefined ? null : new AsyncLocalStorage();
}

/** Whether timers end with the request that they began in, as in Cloudflare Workers. */
export function isTiedToRequests(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === "Cloudflare-Workers";
}

/** Resolves in the next turn of the event loop; at once where work is tied to requests. */
export function nextTurn(): Promise<void> {
  if (isTiedToRequests()) return Promise.resolve();
  return new Promise((resolve) => setImmediate(resolve));
}
