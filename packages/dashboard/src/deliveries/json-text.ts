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
 * JSON in lines down to a depth, and without the values of properties whose name says that they are secret; null when it is no JSON
 * object or array. The spelling of everything else stays as it came: numbers are not read. It ends in {@link cutMark} where it would
 * be longer than `longest` characters.
 */
export function readableJson(
  text: string,
  longest: number = Number.POSITIVE_INFINITY,
  lined: number = deepest,
): string | null {
  if (!isJson(text)) return null;
  const lineAt = (depth: number, inside: number): string =>
    inside > lined ? "" : `\n${"  ".repeat(depth)}`;
  let out = "";
  let depth = 0;
  /** The depth at which a secret value began that goes on. */
  let hidden: number | null = null;
  let [name, before] = ["", ""];
  for (const [token] of text.matchAll(tokens)) {
    if (closes(token)) depth--;
    if (hidden !== null) {
      if (closes(token) && depth === hidden) hidden = null;
    } else {
      let next = token;
      if (before === ":" && isSecret(name, token)) {
        next = `"${removed}"`;
        if (opens(token)) hidden = depth;
      } else if (token.startsWith('"') && out.length + token.length <= longest) {
        next = cleanString(token);
      }
      if (before === ":") next = ` ${next}`;
      else if (before === ",") next = (lineAt(depth, depth) || " ") + next;
      else if (opens(before) && !closes(token)) next = lineAt(depth, depth) + next;
      else if (closes(token) && !opens(before)) next = lineAt(depth, depth + 1) + next;
      if (out.length + next.length > longest) return out + cutMark;
      out += next;
    }
    if (opens(token)) depth++;
    [name, before] = [before, token];
  }
  return out;
}

function isJson(text: string): boolean {
  try {
    return /^\s*[[{]/.test(text) && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

function opens(token: string): boolean {
  return token === "{" || token === "[";
}

function closes(token: string): boolean {
  return token === "}" || token === "]";
}

function cleanString(token: string): string {
  const text = String(JSON.parse(token));
  const safe = readableJson(text, undefined, 0) ?? redactText(text);
  return safe.includes(removed) ? JSON.stringify(safe) : token;
}

/** Whether a property holds a secret, by its name: tokens that are a number are counted. */
function isSecret(name: string, value: string): boolean {
  const [, isMany] = secret.exec(String(JSON.parse(name))) ?? [];
  return isMany !== undefined && !(isMany === "s" && /^[\d-]/.test(value));
}
