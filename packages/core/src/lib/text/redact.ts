/** Removes an API key and the other secrets of a call from everything that is shown. */
export interface Redactor {
  /** The text without them, cut at `limit` characters. */
  text(text: string, limit?: number): string;
  /** A copy of parsed JSON without them in any string, number or property name. */
  value(value: unknown): unknown;
}

/** Secrets by the name that replaces them, in brackets. */
export type Secrets = Readonly<Record<string, string>>;

const placeholder = "[api key]";
// A shorter secret could be guessed, and removing it would leave holes in every text.
const minSecretLength = 8;

/**
 * The text without secrets, as they are, percent-encoded, in a form and in JSON. Anybody may have sent one, so that no
 * pattern is made of it: that could be made to cost much.
 */
export function redactSecrets(text: string, secrets: Secrets): string {
  let shown = text;
  for (const [name, secret] of Object.entries(secrets)) {
    if (secret.length < minSecretLength) continue;
    for (const form of formsOf(secret)) shown = shown.replaceAll(form, () => `[${name}]`);
  }
  return shown;
}

/** Creates the {@link Redactor} of a key; it knows the key and the others as {@link redactSecrets} does. */
export function createRedactor(apiKey: string, others: Secrets = {}): Redactor {
  const pattern = new RegExp([...formsOf(apiKey).map(literal), escaped(apiKey)].join("|"), "g");

  // The key first: another secret, which anybody may have sent, may be a part of what shows it. All before the cut, which
  // would leave a part that nothing finds.
  const text = (given: string, limit?: number): string =>
    redactSecrets(given.replace(pattern, placeholder), others).slice(0, limit);

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

  return { text, value };
}

const asItIs: Redactor = { text: (text) => text, value: (value) => value };

/** The redactor of an answer that is no error: a short key stays in it, for its removal would change all that has its letters. */
export function answerRedactor(apiKey: string, redactor: Redactor): Redactor {
  return apiKey.length < minSecretLength ? asItIs : redactor;
}

/** Makes what redacts an API key, tokens of callback URLs, and passwords in URLs up to the last @, as these are read. */
export function createTextRedactor(apiKey = ""): (text: string) => string {
  const redactor = apiKey.length < minSecretLength ? undefined : createRedactor(apiKey);
  return (text) =>
    (redactor?.text(text) ?? text)
      .replace(/(callback(?:_|%5F)token(?:=|%3D))[\w.-]+/gi, "$1[removed]")
      .replace(/(:\/\/[^\s/:@"]*:)[^\s/?#"]+(?=@)/g, "$1[removed]");
}

/** The text with each address cut to its origin, and each path but those of our docs left out: that of a chat's webhook is a secret. */
export function redactAddresses(text: string): string {
  return text.replace(/\S+/g, (word) => {
    if (!word.includes("/") || /^docs\/[a-z-]+\.md$/.test(word)) return word;
    const [origin] = /[a-z]+:\/\/[\w.:[\]-]+(?![^/?#]*@)/i.exec(word) ?? [];
    return origin === undefined ? "…" : `${origin}/…`;
  });
}

const keyRedactor: unique symbol = Symbol.for("reporthook.cleaner");
// Far more than an error shows, and little enough to search quickly.
const maxRedactedLength = 65_536;

/**
 * Makes the redactor of the last two keys that a client sends: `used` is called with each. `carried`, of the client and of its
 * copies, is where {@link redactorOf} finds it, also that of another copy of this package, and holds no key.
 */
export function createKeyRedactor(): {
  readonly used: (key: string) => void;
  readonly carried: object;
} {
  let redactors: readonly (readonly [key: string, Redactor])[] = [];
  const redact = (text: string): string => {
    const shown = text.slice(0, 2 * maxRedactedLength);
    return redactors.reduce((left, [, { text }]) => text(left, maxRedactedLength), shown);
  };
  return {
    used(key) {
      if (key.length < minSecretLength || redactors.some(([used]) => used === key)) return;
      redactors = [[key, createRedactor(key)] as const, ...redactors].slice(0, 2);
    },
    carried: { [keyRedactor]: redact },
  };
}

/** The redactor of a client's keys, if `createClient` made it, and of tokens: for errors of handlers and hooks. */
export function redactorOf(client: object): (text: string) => string {
  const { [keyRedactor]: redactKeys } = client as { [keyRedactor]?: (text: string) => string };
  const redactTokens = createTextRedactor();
  return (text) => redactTokens(redactKeys?.(text) ?? text);
}

/**
 * All forms that show a secret: itself, percent-encoded once or twice with digits in either case, in a form, in JSON, where a
 * slash may be escaped, and by `util.inspect`. A form that begins with another one comes first.
 */
function formsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret.toWellFormed());
  const form = new URLSearchParams({ "": secret }).toString().slice(1);
  const upper = [encoded, encoded.replaceAll("'", "%27"), form];
  const lower = upper.map((each) => each.replace(/%../g, (digits) => digits.toLowerCase()));
  const percent = [...upper, ...lower];
  const json = JSON.stringify(secret).slice(1, -1);
  const inspected = json.replaceAll('\\"', '"');
  const escaped = [json, json.replaceAll("/", "\\/"), inspected, inspected.replaceAll("'", "\\'")];
  const text = [...escaped, secret, secret.replaceAll("+", " ")];
  return [...new Set([...percent.map(encodeURIComponent), ...percent, ...text])];
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

const entities: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "apos",
};

/**
 * The pattern of a key in which some characters are escaped: in a URL by their bytes, in HTML by name or number, in JSON by number
 * or with backslashes, also several times.
 */
function escaped(key: string): string {
  // A row of backslashes as one: many that may each be many would take long to match.
  return key.replace(/\\+|[^a-zA-Z\d]/gu, (char, at: number) => {
    if (char.startsWith("\\")) return backslashes(char.length);
    // A row has taken the backslashes before it.
    const before = key[at - 1] === "\\" ? "\\\\{0,8}" : "\\\\{1,8}";
    const [, name = ""] = /\\(\w)"/.exec(JSON.stringify(char)) ?? [];
    const inUrl = `(?:${byBytes("\\")})`;
    const inJson = name && `|(?:\\\\{1,8}|${inUrl}{1,8})${name}`;
    // JSON in a URL has backslashes, too.
    const encoded = `${inUrl}{0,8}${byBytes(char)}`;
    return `(?:\\\\{0,8}${literal(char)}${inJson}|${byNumbers(char, before)}|${encoded})`;
  });
}

function backslashes(count: number): string {
  const most = 8 * count + 8;
  const inUrl = byBytes("\\");
  const raw = `\\\\{${count},${most}}(?!\\\\)`;
  const encoded = `(?:${inUrl}){${count},${most}}(?!${inUrl})`;
  return `(?:${raw}|${encoded}|(?:${byNumbers("\\", "\\\\{1,8}")}){${count}})`;
}

function byBytes(text: string): string {
  const bytes = [...new TextEncoder().encode(text)].map((byte) =>
    inEitherCase(byte.toString(16).padStart(2, "0")),
  );
  return bytes.map((hex) => `%(?:25){0,3}${hex}`).join("");
}

/** A character by the number of each of its code units. */
function byNumbers(char: string, before: string): string {
  const units = char.split("").map((unit) => {
    const code = unit.charCodeAt(0);
    const hex = inEitherCase(code.toString(16));
    const name = unit in entities ? `|${entities[unit]}` : "";
    return `(?:${before}u0*${hex}|&(?:#[xX]0*${hex}|#0*${code}${name});)`;
  });
  return units.join("");
}

function inEitherCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
