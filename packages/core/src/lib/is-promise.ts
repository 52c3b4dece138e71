/**
 * @throws TypeError for a promise that a function of the options gives, which must answer at once
 */
export function assertNoPromise(option: string, value: unknown): void {
  if (!isPromise(value)) return;
  value.then(undefined, () => {});
  throw new TypeError(`createReceiver: ${option} must answer at once, not with a promise`);
}

/**
 * Whether a value is a promise, by its `then`: the global `Promise` may not be the one that made it, as under zone.js, in Jest,
 * or where an app replaces it.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { readonly then?: unknown } | null)?.then === "function";
}
