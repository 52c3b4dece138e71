const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const named =
  "(?:api|access|private|secret|signing)[-_ ]?key|secret|token|passw(?:or)?d|pwd|passphrase|authorization|signature|sig|credentials?|cookie";
const secret = new RegExp(`(?:${named})(s?)$`, "i");
// In quotes all up to their end, which has as many backslashes before it; a list or an object; else a word.
const inText = new RegExp(
  String.raw`((?:${named})(?:s(?!\\*["']?\s*[=:]\s*-?\d))?(?:\\*["']?\s*[=:]\s*|%3D))(?:(\\*["'])[^]*?(?:(?<!\\)\2|$)|\[[^\]]*\]?|\{[^}]*\}?|(?:(?:Bearer|Basic|Digest|Token)\s+)?[^\s&"'\\,;}\])<>]+)`,
  "gi",
);
// Up to the last @, as addresses are read.
const inAddress = /(:\/\/[^\s/:@"]*:)[^\s/?#"]+(?=@)/g;
const inHeader = /((?:authorization|cookie)\s*:\s*)[^\r\n"']+/gi;
const scheme = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/g;

/** What stands where a secret was. */
const removed = "[removed]";
/** A line costs as much as it is indented: deeper than anybody reads, what follows stays on one. */
const deepest = 10;

/** Text without what looks like a secret: `api_key=…`, `Bearer …`, `https://user:…@host`. */
export function withoutSecrets(text: string): string {
  return text
    .replace(inHeader, `$1${removed}`)
    .replace(inText, `$1$2${removed}$2`)
    .replace(scheme, `$1 ${removed}`)
    .replace(inAddress, `$1${removed}`);
}

/**
 * JSON indented, and without the values of properties whose name says that they are secret; null when it is no JSON object or
 * array. The spelling of everything else stays as it came: numbers are not read.
 */
export function readableJson(text: string): string | null {
  return isJson(text) ? laidOut(text, deepest) : null;
}

function isJson(text: string): boolean {
  try {
    return /^\s*[[{]/.test(text) && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

/** Without secrets, and in lines down to a depth. */
function laidOut(text: string, deepest: number): string {
  const lineAt = (depth: number, inside: number): string =>
    inside > deepest ? "" : `\n${"  ".repeat(depth)}`;
  const all = text.match(tokens) ?? [];
  let out = "";
  let depth = 0;
  for (let at = 0; at < all.length; at++) {
    const token = all[at] ?? "";
    if (opens(token)) {
      depth++;
      out += closes(all[at + 1]) ? token : token + lineAt(depth, depth);
    } else if (closes(token)) {
      depth--;
      out += opens(all[at - 1]) ? token : lineAt(depth, depth + 1) + token;
    } else if (token === ",") out += `,${lineAt(depth, depth) || " "}`;
    else if (token === ":") {
      out += ": ";
      if (!isSecret(all[at - 1], all[at + 1])) continue;
      out += `"${removed}"`;
      at = endOfValue(all, at + 1);
    } else out += token.startsWith('"') ? cleanString(token) : token;
  }
  return out;
}

function opens(token: string | undefined): boolean {
  return token === "{" || token === "[";
}

function closes(token: string | undefined): boolean {
  return token === "}" || token === "]";
}

function cleanString(token: string): string {
  const text = String(JSON.parse(token));
  const safe = isJson(text) ? laidOut(text, 0) : withoutSecrets(text);
  return safe.includes(removed) ? JSON.stringify(safe) : token;
}

/** Whether a property holds a secret, by its name: tokens that are a number are counted. */
function isSecret(name = '""', value = ""): boolean {
  const [, isMany] = secret.exec(String(JSON.parse(name))) ?? [];
  return isMany !== undefined && !(isMany === "s" && /^[\d-]/.test(value));
}

/** Where the value that begins at `from` ends. */
function endOfValue(all: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < all.length; at++) {
    if (opens(all[at])) depth++;
    if (closes(all[at])) depth--;
    if (depth === 0) return at;
  }
  return all.length;
}
