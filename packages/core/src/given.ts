/**
 * Throws a `TypeError` that names what is given and is no option of `whose`, or says that it is no object; `path` is where
 * in its options it stands, with a dot at its end.
 */
export function onlyKnown(
  whose: string,
  given: unknown,
  names: readonly string[],
  path: string = "",
): asserts given is object {
  if (typeof given !== "object" || given === null) {
    const what = path === "" ? "options" : path.slice(0, -1);
    throw new TypeError(`${whose}: ${what} must be an object, not ${kindOf(given)}`);
  }
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${whose}: ${path}${name} is no option; these are: ${names.join(", ")}`);
  }
}

/** Throws a `TypeError` unless it is a number of milliseconds, which may be Infinity. */
export function checkMs(call: string, name: string, given: unknown): void {
  if (typeof given === "number" && given >= 0) return;
  throw new TypeError(`${call}: ${name} must be milliseconds from 0, not ${shown(given)}`);
}

/** A value in few words. */
export function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : quotable(value);
}

/** The same of what must not be quoted. */
export function kindOf(value: unknown): string {
  return typeof value === "string" ? "a string" : quotable(value);
}

function quotable(value: unknown): string {
  const isSimple = value === null || !["object", "function"].includes(typeof value);
  return isSimple ? String(value) : typeof value === "object" ? "an object" : "a function";
}
