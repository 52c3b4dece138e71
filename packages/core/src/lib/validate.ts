import { tryGet } from "./safe-get.ts";

/**
 * Throws a `TypeError` if `given` is no object, or has a property that is no option of `whose`; `path` is its place in the
 * options, with a dot at its end.
 */
export function assertKnownKeys(
  whose: string,
  given: unknown,
  names: readonly string[],
  path: string = "",
): asserts given is object {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    fail(`${whose}: ${path === "" ? "options" : path.slice(0, -1)}`, "an object", typeName(given));
  }
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${whose}: ${path}${name} is no option; these are: ${names.join(", ")}`);
  }
}

/** Throws a `TypeError` that says what `name`, an option or argument, must be. */
export function fail(name: string, expected: string, given: string): never {
  throw new TypeError(`${name} must be ${expected}, not ${given}`);
}

/** Throws a `TypeError` unless `fits`. */
export function assertOption(name: string, expected: string, given: unknown, fits: boolean): void {
  if (!fits) fail(name, expected, inspect(given));
}

/** Whether it is the text of an absolute http(s) URL. */
export function isHttpUrl(given: unknown): given is string {
  return typeof given === "string" && /^https?:\/\//i.test(given) && URL.canParse(given);
}

/** The rest of a message about an address that is none: what it must be. It quotes nothing, for that may hold a secret. */
export function mustBeHttpUrl(example: string, given: unknown): string {
  const way = given instanceof URL ? ", as text: give the href of the URL object" : "";
  return `must be an absolute http(s) URL like "${example}"${way}`;
}

/** Throws a `TypeError` unless it is a number of milliseconds, which may be Infinity. */
export function assertMs(name: string, given: unknown): void {
  assertOption(name, "milliseconds from 0", given, typeof given === "number" && given >= 0);
}

/** Throws a `TypeError` unless it is a span in whole milliseconds, after which a date is still one. */
export function assertSpan(name: string, given: unknown): void {
  const fits = Number.isSafeInteger(given) && Number(given) > 0 && Number(given) < 1e13;
  assertOption(name, "whole milliseconds from 1", given, fits);
}

/** Throws a `TypeError` unless it is a number above zero, which may be Infinity. */
export function assertPositive(name: string, unit: string, given: unknown): void {
  const fits = typeof given === "number" && given > 0;
  assertOption(name, `a positive number${unit}`, given, fits);
}

/** Throws a `TypeError` unless it is the limit of a list, or left out. */
export function assertLimit(whose: string, limit = 1): void {
  const isCount = Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY;
  assertOption(`${whose}: limit`, "an integer from 1, or Infinity", limit, isCount && limit >= 1);
}

/** Throws a `TypeError` unless it is a valid date. */
export function assertDate(name: string, given: unknown): void {
  // Not by instanceof: it may be of another realm, as in Jest.
  const isDate = Object.prototype.toString.call(given) === "[object Date]";
  assertOption(name, "a valid Date", given, isDate && Number.isFinite(Number(given)));
}

/** Throws a `TypeError` unless it is true or false. */
export function assertBoolean(name: string, given: unknown): void {
  assertOption(name, "true or false", given, typeof given === "boolean");
}

/** Throws a `TypeError` unless it is text. */
export function assertText(name: string, given: unknown): void {
  assertOption(name, "a string", given, typeof given === "string");
}

/** Throws a `TypeError` unless it is a signal, or left out. */
export function assertSignal(name: string, given: AbortSignal | undefined): void {
  const fits = given === undefined || typeof given?.throwIfAborted === "function";
  assertOption(name, "an AbortSignal", given, fits);
}

/** The JSON text of a value, of which JSON may lose something if told so. Throws a `TypeError` for one that has none. */
export function jsonText(name: string, given: unknown, mayLose = false): string {
  const replacer = mayLose ? undefined : unlessLost;
  const json = tryGet((): string | undefined => JSON.stringify(given, replacer));
  if (json !== undefined) return json;
  const without = "no cycle, no bigint, no promise, no Map";
  throw new TypeError(`${name} must be something that JSON can hold: ${without}`);
}

/** Throws for a part that is not empty, and that JSON would write as `{}`. */
function unlessLost(_: string, part: unknown): unknown {
  if (isPlain(part) || Object.keys(Object(part)).length > 0) return part;
  throw new TypeError();
}

/** Whether a value may be parsed JSON; a form, a stream or a promise would be written as `{}`. */
export function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return true;
  const parent: unknown = Object.getPrototypeOf(value);
  if (parent === null) return true;
  const tag = Object.prototype.toString.call(value);
  return Object.getPrototypeOf(parent) === null && tag === "[object Object]";
}

/** Shows a value in few words. */
export function inspect(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : typeName(value);
}

/** Shows a value in few words, without quoting text. */
export function typeName(value: unknown): string {
  if (typeof value === "string") return "a string";
  const isSimple = value === null || !["object", "function"].includes(typeof value);
  if (isSimple) return String(value);
  return Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : "a function";
}
