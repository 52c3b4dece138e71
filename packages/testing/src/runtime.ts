/** The async context of an app's request. */
export interface Storage {
  run<T>(store: string, run: () => T): T;
  getStore(): string | undefined;
}

/** A module that is built into the runtime; without members where there is none. */
export function runtimeModule<Module extends object>(id: `node:${string}`): Partial<Module> {
  return (globalThis.process?.getBuiltinModule?.(id) ?? {}) as Partial<Module>;
}

/** A fresh `AsyncLocalStorage`, or null where the platform has none. */
export function asyncStorage(): Storage | null {
  const { AsyncLocalStorage } = runtimeModule<{ AsyncLocalStorage: new () => Storage }>(
    "node:async_hooks",
  );
  return AsyncLocalStorage === undefined ? null : new AsyncLocalStorage();
}

/** Whether this is Cloudflare Workers, where timers end with the request that they began in. */
export function isWorkers(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === "Cloudflare-Workers";
}

/** Resolves in the next turn of the event loop; at once where work is tied to requests. */
export function nextTurn(): Promise<void> {
  if (isWorkers()) return Promise.resolve();
  return new Promise((resolve) => setImmediate(resolve));
}
