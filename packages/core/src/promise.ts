/**
 * Whether a value is still to come. By what it can do: the global `Promise` may be another one than that which made it, as under
 * zone.js, in Jest, or where an app puts its own in that place.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { readonly then?: unknown } | null)?.then === "function";
}
