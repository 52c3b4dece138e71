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
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    wrong(`${whose}: ${path === "" ? "options" : path.slice(0, -1)}`, "an object", kindOf(given));
  }
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${whose}: ${path}${name} is no option; these are: ${names.join(", ")}`);
  }
}

/** Throws a `TypeError` that says what `name`, an option or argument, must be. */
export function wrong(name: string, expected: string, given: string): never {
  throw new TypeError(`${name} must be ${expected}, not ${given}`);
}

/** The same unless it `fits`. */
export function check(name: string, expected: string, given: unknown, fits: boolean): void {
  if (!fits) wrong(name, expected, shown(given));
}

/** The same unless it is a number of milliseconds, which may be Infinity. */
export function checkMs(name: string, given: unknown): void {
  check(name, "milliseconds from 0", given, typeof given === "number" && given >= 0);
}

/** The same unless it is one above zero, which may be Infinity. */
export function checkPositive(name: string, unit: string, given: unknown): void {
  const fits = typeof given === "number" && given > 0;
  check(name, `a positive number${unit}`, given, fits);
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
  if (isSimple) return String(value);
  return Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : "a function";
}
