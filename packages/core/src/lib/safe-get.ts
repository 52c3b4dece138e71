/** Calls `read`; undefined if it throws, as a getter of a foreign object may. */
export function tryGet<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A property of something unknown, whose getter may throw. */
export function safeGet(of: unknown, name: PropertyKey): unknown {
  return tryGet(() => (of as Record<PropertyKey, unknown> | null | undefined)?.[name]);
}

/** A property of something unknown, if it is text. */
export function safeText(of: unknown, name: string): string | undefined {
  const value = safeGet(of, name);
  return typeof value === "string" ? value : undefined;
}
