import { createTextRedactor } from "@reporthook/core/store";

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const named =
  "(?:api|access|private|secret|signing)[-_ ]?key|secret|token|passw(?:or)?d|pwd|passphrase|authorization|signature|sig|credentials?|cookie";
const secret = new RegExp(`(?:${named})(s?)$`, "i");
// In quotes all up to their end, which has as many backslashes before it; a list or an object; else a word.
// A sentence of a receiver about a key or a password is no secret: it begins with one of these words.
const sentence = "(?<=: )(?:it|its|if|no|see|put|check|keep) [a-z]";
const inText = new RegExp(
  String.raw`((?<!^The service refuses the (?=API key: ))(?:${named})(?:s(?!\\*["']?\s*[=:]\s*-?\d))?(?:\\*["']?\s*[=:]\s*|%3D))(?!${sentence})(?:(\\*["'])[^]*?(?:(?<!\\)\2|$)|\[[^\]]*\]?|\{[^}]*\}?|(?:(?:Bearer|Basic|Digest|Token)\s+)?[^\s&"'\\,;}\])<>]+)`,
  "gi",
);
const inHeader = /((?:authorization|cookie)\s*:\s*)[^\r\n"']+/gi;
const scheme = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/g;

/** The replacement of a secret. */
const removed = "[removed]";
/** Indentation costs time: beyond this depth the rest stays on one line. */
const deepest = 10;
/** Stands where the rest was left out: no JSON ends so. */
export const cutMark = "…";

const redactUrls = createTextRedactor();

/** Text without what looks like a secret: `api_key=…`, `Bearer …`, `https://user:…@host`. */
export function redactText(text: string): string {
  return redactUrls(
    text
      .replace(inHeader, `$1${removed}`)
      .replace(inText, `$1$2${removed}$2`)
      .replace(scheme, `$1 ${removed}`),
  );
}

/**
 * JSON indented, and without the values of properties whose name says that they are secret; null when it is no JSON object or
 * array. The spelling of everything else stays as it came: numbers are not read. It ends in {@link cutMark} where it would be
 * longer than `longest` characters.
 */
export function readableJson(
  text: string,
  longest: number = Number.POSITIVE_INFINITY,
): string | null {
  return isJson(text) ? laidOut(text, deepest, longest) : null;
}

function isJson(text: string): boolean {
  try {
    return /^\s*[[{]/.test(text) && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

/** Without secrets, and in lines down to a depth. */
function laidOut(
  text: string,
  deepest: number,
  longest: number = Number.POSITIVE_INFINITY,
): string {
  const lineAt = (depth: number, inside: number): string =>
    inside > deepest ? "" : `\n${"  ".repeat(depth)}`;
  const all = readTokens(text);
  let out = "";
  let depth = 0;
  for (; all.token !== undefined; all.step()) {
    const { before, token, after } = all;
    let next = token;
    if (opens(token)) {
      depth++;
      next = closes(after) ? token : token + lineAt(depth, depth);
    } else if (closes(token)) {
      depth--;
      next = opens(before) ? token : lineAt(depth, depth + 1) + token;
    } else if (token === ",") next = `,${lineAt(depth, depth) || " "}`;
    else if (token === ":") {
      const isHidden = isSecret(before, after);
      next = isHidden ? `: "${removed}"` : ": ";
      if (isHidden) skipValue(all);
    } else if (token.startsWith('"')) {
      next = out.length + token.length > longest ? token : cleanString(token);
    }
    if (out.length + next.length > longest) return out + cutMark;
    out += next;
  }
  return out;
}

/** The place of a reader between two tokens. */
interface Tokens {
  readonly before: string | undefined;
  readonly token: string | undefined;
  readonly after: string | undefined;
  step(): void;
}

/** Reads no further than it is asked to. */
function readTokens(text: string): Tokens {
  const found = text.matchAll(tokens);
  const read = (): string | undefined => found.next().value?.[0];
  let before: string | undefined;
  let token = read();
  let after = read();
  return {
    get before() {
      return before;
    },
    get token() {
      return token;
    },
    get after() {
      return after;
    },
    step() {
      [before, token, after] = [token, after, read()];
    },
  };
}

function opens(token: string | undefined): boolean {
  return token === "{" || token === "[";
}

function closes(token: string | undefined): boolean {
  return token === "}" || token === "]";
}

function cleanString(token: string): string {
  const text = String(JSON.parse(token));
  const safe = isJson(text) ? laidOut(text, 0) : redactText(text);
  return safe.includes(removed) ? JSON.stringify(safe) : token;
}

/** Whether a property holds a secret, by its name: tokens that are a number are counted. */
function isSecret(name = '""', value = ""): boolean {
  const [, isMany] = secret.exec(String(JSON.parse(name))) ?? [];
  return isMany !== undefined && !(isMany === "s" && /^[\d-]/.test(value));
}

/** Steps to the last token of the value that comes next. */
function skipValue(all: Tokens): void {
  let depth = 0;
  do {
    all.step();
    if (opens(all.token)) depth++;
    if (closes(all.token)) depth--;
  } while (depth > 0 && all.token !== undefined);
}
