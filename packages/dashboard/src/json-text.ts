const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const secret =
  /((api|access|private)[-_ ]?key|secret|token|passw(or)?d|authorization|signature|sig|credentials?|cookie)$/i;
const inText =
  /((?:api[-_]?key|apikey|secret|token|password|passwd|authorization|signature|sig|credential|access[-_]?key)(?:\\*"?\s*[=:]\s*\\*"?|%3D))(?:(?:Bearer|Basic)\s+)?[^\s&"'\\,;}\])<>]+/gi;
const scheme = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/g;

/** What stands where a secret was. */
const removed = "[removed]";

/** Text without what looks like a secret: `api_key=…`, `Bearer …`. */
export function withoutSecrets(text: string): string {
  return text.replace(inText, `$1${removed}`).replace(scheme, `$1 ${removed}`);
}

/**
 * JSON indented, and without the values of properties whose name says that they are secret; null when it is no JSON object or
 * array. The spelling of everything else stays as it came: numbers are not read.
 */
export function readableJson(text: string): string | null {
  try {
    if (typeof JSON.parse(text) !== "object") return null;
  } catch {
    return null;
  }
  const all = text.match(tokens) ?? [];
  let out = "";
  let depth = 0;
  const line = (): string => `\n${"  ".repeat(depth)}`;
  for (let at = 0; at < all.length; at++) {
    const token = all[at] ?? "";
    if (token === "{" || token === "[") {
      depth++;
      const isEmpty = all[at + 1] === "}" || all[at + 1] === "]";
      out += isEmpty ? token : token + line();
    } else if (token === "}" || token === "]") {
      depth--;
      const isEmpty = all[at - 1] === "{" || all[at - 1] === "[";
      out += isEmpty ? token : line() + token;
    } else if (token === ",") out += `,${line()}`;
    else if (token === ":") {
      out += ": ";
      if (!isSecret(all[at - 1])) continue;
      out += `"${removed}"`;
      at = endOfValue(all, at + 1);
    } else out += token.startsWith('"') ? withoutSecrets(token) : token;
  }
  return out;
}

function isSecret(token = ""): boolean {
  try {
    return secret.test(String(JSON.parse(token)));
  } catch {
    return false;
  }
}

/** Where the value that begins at `from` ends. */
function endOfValue(all: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < all.length; at++) {
    const token = all[at];
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
    if (depth === 0) return at;
  }
  return all.length;
}
