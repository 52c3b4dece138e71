import { assertKnownKeys, assertOption, fail } from "../lib/validate.ts";

/** Checks the value of an option. */
export function must<T>(option: string, expected: string, given: T, fits: boolean): T {
  assertOption(`createReceiver: ${option}`, expected, given, fits);
  return given;
}

/** Checks an optional function that answers at once, as `parse` and `signature`: a result that is awaited comes too late. */
export function syncOr<T>(option: string, given: T | undefined): T | undefined {
  const isAsync = Object.prototype.toString.call(given) === "[object AsyncFunction]";
  if (isAsync) fail(`createReceiver: ${option}`, "a function that is not async", "an async one");
  return functionOr(option, given);
}

/** Checks an optional function. */
export function functionOr<T>(option: string, given: T | undefined): T | undefined {
  return must(option, "a function", given, given === undefined || typeof given === "function");
}

/** Checks an option of integers, each from 1 or its least, and fills in the defaults. */
export function numbers<T extends object>(
  option: string,
  defaults: T,
  given: object,
  minOf?: { readonly [Name in keyof T]?: number },
): T {
  assertKnownKeys("createReceiver", given, Object.keys(defaults), `${option}.`);
  const chosen = given as Record<string, unknown>;
  const checked = Object.entries(defaults).map(([name, value]) => {
    const { [name]: one = value } = chosen;
    return [name, wholeNumber(`${option}.${name}`, one, minOf?.[name as keyof T])];
  });
  return Object.fromEntries(checked) as T;
}

/** Checks an integer. */
export function wholeNumber(option: string, given: unknown, least = 1): number {
  const fits = Number.isSafeInteger(given) && Number(given) >= least;
  return Number(must(option, `an integer from ${least}`, given, fits));
}
