/**
 * @throws TypeError for a promise that a function of the options gives, which must answer at once
 */
export function assertNoPromise(option: string, value: unknown): void {
  if (!isPromise(value)) return;
  value.then(undefined, () => {});
  throw new TypeError(`createReceiver: ${option} must answer at once, not with a promise`);
}

/**
 * Whether a value is still to come. By what it can do: the global `Promise` may be another one than that which made it, as under
 * zone.js, in Jest, or where an app puts its own in that place.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { readonly then?: unknown } | null)?.then === "function";
}
