/** Takes an API key, and what else is secret in a call, out of whatever is about to be shown. */
export interface Redactor {
  /** The text without them, cut at `limit` characters. */
  text(text: string, limit?: number): string;
  /** A copy of parsed JSON without them in any string, number or property name. */
  value(value: unknown): unknown;
  /**
   * A fresh error with no more than the name, code and message of what was thrown, and of its causes:
   * the original may carry the request, and with it a secret, in any property.
   */
  error(thrown: unknown): Error;
}

/** Secrets by what is shown in their place, in brackets. */
export type Secrets = Readonly<Record<string, string>>;

const placeholder = "[api key]";
const maxCauses = 4;
// What is shorter is anybody's guess, and taken out it would leave holes in every text.
const shortestSecret = 8;

/**
 * The text without secrets, as they are, percent-encoded and JSON-escaped. Anybody may have sent one, so that no pattern
 * is made of it: that could be made to cost much.
 */
export function without(text: string, secrets: Secrets): string {
  let shown = text;
  for (const [name, secret] of Object.entries(secrets)) {
    if (secret.length < shortestSecret) continue;
    const form = new URLSearchParams({ "": secret }).toString().slice(1);
    const encoded = encodeURIComponent(secret.toWellFormed());
    const forms = [JSON.stringify(secret).slice(1, -1), encoded, form, secret];
    for (const each of forms) shown = shown.replaceAll(each, () => `[${name}]`);
  }
  return shown;
}

/**
 * Creates the {@link Redactor} of a key. It knows the key as it is, percent-encoded (once or more often, in
 * either case, all of it or in part), form-encoded and JSON-escaped; others as {@link without} does.
 */
export function createRedactor(apiKey: string, others: Secrets = {}): Redactor {
  const pattern = new RegExp(
    (apiKey.match(/\\+|[^\\]/gu) ?? []).map((part) => formsOf(part)).join(""),
    "gu",
  );

  const text = (given: string, limit: number = Number.POSITIVE_INFINITY): string => {
    const input = without(given, others);
    let end = limit;
    for (const match of input.matchAll(pattern)) {
      // A key that straddles the cut would be left in part, which no pattern finds.
      if (match.index < limit && match.index + match[0].length > limit) end = match.index;
    }
    return input.slice(0, end).replace(pattern, placeholder).slice(0, limit);
  };

  const value = (input: unknown): unknown => {
    if (typeof input === "string") return text(input);
    if (typeof input === "number") {
      const shown = text(String(input));
      return shown === String(input) ? input : shown;
    }
    if (Array.isArray(input)) return input.map(value);
    if (typeof input !== "object" || input === null) return input;
    return Object.fromEntries(Object.entries(input).map(([name, of]) => [text(name), value(of)]));
  };

  const error = (thrown: unknown, depth = 1): Error => {
    const message = typeof thrown === "string" ? thrown : read(thrown, "message");
    const cause = read(thrown, "cause");
    const copy = new Error(
      typeof message === "string" ? text(message, 500) : `Thrown value of type ${typeof thrown}`,
      cause === undefined || depth === maxCauses ? undefined : { cause: error(cause, depth + 1) },
    );
    for (const name of ["name", "code"]) {
      const shown = read(thrown, name);
      if (typeof shown === "string") {
        const enumerable = name === "code";
        Object.defineProperty(copy, name, { value: text(shown, 100), enumerable });
      }
    }
    // Its own would lead here, which says nothing of where it was thrown.
    Object.defineProperty(copy, "stack", { value: `${copy.name}: ${copy.message}` });
    return copy;
  };

  return { text, value, error: (thrown) => error(thrown) };
}

const cleaner: unique symbol = Symbol.for("reporthook.cleaner");
// Far more than is shown of an error, and so little that looking through it holds up nobody.
const mostCleaned = 65_536;

/**
 * What a client carries, for {@link cleanerOf} to find also in a copy of the client and from another copy of this package:
 * it shows no key. `used` is to be called with each key that is sent; the last two are taken out.
 */
export function createCleaner(): {
  readonly used: (key: string) => void;
  readonly carried: object;
} {
  let keys: readonly string[] = [];
  let redactors: readonly Redactor[] = [];
  const clean = (text: string): string =>
    redactors.reduce(
      (shown, redactor) => redactor.text(shown, mostCleaned),
      text.slice(0, 2 * mostCleaned),
    );
  return {
    used(key) {
      if (key.length < shortestSecret || keys.includes(key)) return;
      keys = [key, ...keys].slice(0, 2);
      redactors = keys.map((each) => createRedactor(each));
    },
    carried: { [cleaner]: clean },
  };
}

/**
 * What takes the API key that a client sent last, and the one before, out of a text that a handler or hook has thrown. A
 * text stays as it is when `createClient` did not make the client, and when the key is as short as a word.
 */
export function cleanerOf(client: object): (text: string) => string {
  return (client as { [cleaner]?: (text: string) => string })[cleaner] ?? ((text) => text);
}

/**
 * A pattern of the forms that one character, or one run of backslashes, of the key can take. The forms of a
 * part start differently and repeat within bounds, so that no text makes the search slow.
 */
function formsOf(part: string): string {
  const bytes = [...new TextEncoder().encode(part)];
  const percent = bytes.map((byte) => `%(?:25){0,3}${hex(byte, 2)}`).join("");
  const units = part.split("").map((unit) => `\\\\{1,4}u${hex(unit.charCodeAt(0), 4)}`);
  const literal = [...part].map((char) => `\\u{${char.codePointAt(0)?.toString(16)}}`).join("");
  return `(?:${percent}|${units.join("")}|${escaped(part, literal)})`;
}

/** What quotes, backslashes and a plus become in JSON, in a quoted text or in a decoded form. */
function escaped(part: string, literal: string): string {
  if (part.startsWith("\\")) return `${literal.repeat(4)}|${literal.repeat(2)}|${literal}`;
  if (part === "\b") return `\\\\{1,4}b|${literal}`;
  if (part === "+") return "[+ ]";
  return "\"'`/".includes(part) ? `\\\\{0,4}${literal}` : literal;
}

/** A number's hexadecimal digits, in either case. */
function hex(number: number, digits: number): string {
  const text = number.toString(16).padStart(digits, "0");
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** A property of something unknown, whose getter may throw. */
export function read(of: unknown, name: string): unknown {
  try {
    return (of as Record<string, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}
