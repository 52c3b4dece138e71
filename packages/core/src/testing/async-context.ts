import { builtin } from "../lib/platform.ts";

/** The async context of an app's request. */
export interface Storage {
  run<T>(store: string, run: () => T): T;
  getStore(): string | undefined;
}

/** A fresh `AsyncLocalStorage`, or null where the platform has none. */
export function asyncStorage(): Storage | null {
  const { AsyncLocalStorage } = builtin<{ AsyncLocalStorage: new () => Storage }>(
    "node:async_hooks",
  );
  return AsyncLocalStorage === undefined ? null : new AsyncLocalStorage();
}
