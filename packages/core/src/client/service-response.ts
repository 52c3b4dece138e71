import { safeGet, tryGet } from "../lib/safe-get.ts";
import { chainOf } from "../lib/thrown.ts";

/** An answer of the service, in the form that the fetch in use gives it. */
export interface ServiceResponse {
  /** 0 for a redirect that the fetch hides. */
  readonly status: number;
  /** Whether the service answered with a redirect, or the fetch has followed one. */
  readonly isRedirect: boolean;
  /** The value of a header; its name is in lower case. */
  header(name: string): string | undefined;
  /** Where the body may be: the response, and an error that carries it. */
  readonly parts: readonly unknown[];
  /** The rejection that carried it. */
  readonly thrown?: unknown;
}

/** Where an answer shows that a redirect was followed: that of fetch, superagent, got, axios on Node, and undici. */
const followed: readonly (readonly PropertyKey[])[] = [
  ["redirected"],
  ["redirects", 0],
  ["redirectUrls", 0],
  ["request", "_redirectable", "_isRedirect"],
  ["context", "history", 1],
];

/** The answer that a fetch resolved to: a `Response`, or an object that is like one; undefined for anything else. */
export function responseOf(...parts: readonly unknown[]): ServiceResponse | undefined {
  const isHidden = parts.some((part) => safeGet(part, "type") === "opaqueredirect");
  const status = isHidden ? 0 : parts.map(statusOf).find((found) => found !== undefined);
  if (status === undefined) return undefined;
  const isFollowed = parts.some((part) => followed.some((path) => path.reduce(safeGet, part)));
  return {
    status,
    isRedirect: isHidden || isFollowed || (status >= 300 && status < 400),
    header: (name) =>
      parts.map((part) => headerIn(safeGet(part, "headers"), name)).find((value) => value),
    parts,
  };
}

/**
 * The answer that a rejection carries, as that of ky, ofetch, got or axios does at 4xx: as `response`, as the error or in a
 * cause; undefined for a failure of the network. An answer with headers is preferred: an error may have a status that
 * something on the way gave it. With the `path` of an operation, one of another address is none: a fetch may ask another server
 * first, such as for a token.
 */
export function responseIn(thrown: unknown, path?: string): ServiceResponse | undefined {
  const links = chainOf(thrown)
    .map((link) => [safeGet(link, "response"), link])
    .filter((parts) => path === undefined || isOfPath(parts, path));
  const hasHeaders = (part: unknown): boolean => typeof safeGet(part, "headers") === "object";
  const whole = links.filter((parts) => parts.some(hasHeaders));
  const responses = [...whole, ...links].map((parts) => responseOf(...parts));
  const response = responses.find((found) => found !== undefined);
  return response && { ...response, thrown };
}

/** Whether an answer may be one to a call of this path: it names no address, or one that has it, for itself or for a proxy. */
function isOfPath(parts: readonly unknown[], path: string): boolean {
  const asked = ["config", "request", "options"];
  const all = [...parts, ...parts.flatMap((part) => asked.map((name) => safeGet(part, name)))];
  const named = all
    .flatMap((part) => ["url", "requestUrl", "baseURL"].map((name) => safeGet(part, name)))
    .filter((each) => (typeof each === "string" && each !== "") || each instanceof URL)
    .map(String);
  if (named.length === 0) return true;
  // A proxy may get the address as a parameter, which axios has apart.
  const params = all.map((part) => tryGet(() => JSON.stringify(safeGet(part, "params"))) ?? "");
  return [...named, ...params].some((text) =>
    (tryGet(() => decodeURIComponent(text)) ?? text).includes(path),
  );
}

/** The status; an error of the network may have 0, or a text. */
function statusOf(part: unknown): number | undefined {
  return [safeGet(part, "status"), safeGet(part, "statusCode")].find(
    (status): status is number =>
      Number.isInteger(status) && Number(status) >= 200 && Number(status) < 600,
  );
}

function headerIn(headers: unknown, name: string): string | undefined {
  const value = tryGet(() => {
    const given = headers as Headers & Record<string, unknown>;
    if (typeof given.get === "function") return given.get(name);
    const spelled = Object.keys(given).find((key) => key.toLowerCase() === name);
    return spelled === undefined ? undefined : given[spelled];
  });
  return value === undefined || value === null ? undefined : String(value);
}
