import { isHttpUrl, mustBeHttpUrl } from "../lib/validate.ts";

/** How a report request carries the API key; the document does not show it. */
export type ReportAuth = "header" | "query" | "none";

/** The address that paths are appended to: no trailing slash. A `TypeError` names the option and quotes nothing. */
export function checkBaseUrl(value: unknown): string {
  assertSet("baseUrl", value);
  const example = `baseUrl ${mustBeHttpUrl("https://reports.example", value)}`;
  if (!isHttpUrl(value)) throw new TypeError(example);
  const url = new URL(value);
  if (/[?#]/.test(value) || url.username !== "" || url.password !== "") {
    throw new TypeError(`${example}, without "?", "#", user and password`);
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function assertSet(option: string, value: unknown): void {
  if (value !== undefined && value !== "") return;
  throw new TypeError(`${option} is empty: is the environment variable it comes from set?`);
}

/** Whether a host is this machine: nobody else can reach it, or listen on the way to it. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

const overHttp: unique symbol = Symbol.for("reporthook.overHttp");

/** Properties of a client whose `baseUrl` is `http:` and leads to another machine; {@link overHttpOf} reads them. */
export function carriedOverHttp(baseUrl: string): object {
  const { protocol, hostname, origin } = new URL(baseUrl);
  const isHere = isLoopback(hostname) || hostname.endsWith(".localhost");
  return protocol === "https:" || isHere ? {} : { [overHttp]: origin };
}

/** The origin of the service of a client whose API key anybody on the way can read; a path may hold a secret. */
export function overHttpOf(client: object): string | undefined {
  return (client as { [overHttp]?: string })[overHttp];
}

// The key becomes part of a pattern, and engines limit the length of patterns.
const maxKeyLength = 2_048;

/** The API key, if it can be one. A `TypeError` names the option and never quotes the key. */
export function checkApiKey(value: unknown): string {
  assertSet("apiKey", value);
  if (typeof value !== "string") {
    throw new TypeError("apiKey must be a string, or a function that returns one");
  }
  if (/\s/.test(value)) {
    throw new TypeError("apiKey holds white space: trim it, and check that it was copied whole");
  }
  if (/^(?:\[.*\]|\{.*\}|<.*>)$/s.test(value)) {
    throw new TypeError("apiKey is still wrapped in brackets: write the key without them");
  }
  if (value.length > maxKeyLength || !value.isWellFormed()) {
    throw new TypeError("apiKey is too long, or no well-formed text: is it the key, copied whole?");
  }
  return value;
}

/** The code of an error about a value that no header can carry: Node's. */
export const unsendable = "ERR_INVALID_CHAR";

const sendable = /^(?![ \t])[\t\x20-\x7e\x80-\xff]+(?<![ \t])$/;

/** Throws a `TypeError` that names `what` and does not quote the value, if no header can carry it unchanged. */
export function checkHeaderValue(value: unknown, what: string): asserts value is string {
  if (typeof value === "string" && sendable.test(value)) return;
  const must = "Latin-1 text, not empty, without white space around it or control characters";
  const error = new TypeError(`${what} cannot be sent as a header: it must be ${must}`);
  throw Object.assign(error, { code: unsendable });
}
