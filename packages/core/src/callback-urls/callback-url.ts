import type { OncePerMinute } from "../lib/log.ts";
import {
  assertBoolean,
  assertKnownKeys,
  assertSpan,
  fail,
  isHttpUrl,
  jsonText,
  mustBeHttpUrl,
  typeName,
} from "../lib/validate.ts";
import { messages } from "../log-messages.ts";
import { CallbackTokens } from "./token.ts";

declare const contextType: unique symbol;

/**
 * The `callback` option: signed callback URLs.
 *
 * Naming the type of the context here gives `event.context` its type.
 *
 * @example const callback: CallbackOptions<{ customer: string }> = { secrets: [secret], require: true };
 */
export interface CallbackOptions<Context = unknown> {
  /** At least 32 random characters each. The first secret signs, all of them verify (for rotation). */
  readonly secrets: readonly string[];
  /**
   * Whether a request must have a valid token: `false`. With `true` an unsigned one without is answered 404, and a signed one is
   * held if the service vouches for it: its report may have been requested with a URL that was not signed.
   */
  readonly require?: boolean | undefined;
  /** The public address of this receiver: the base of the callback URLs that `receiver.reports` makes. */
  readonly url?: string | undefined;
  /** Milliseconds after which a request of `receiver.reports` without a final status is told as overdue: a day. */
  readonly overdueMs?: number | undefined;
  /** Exists for the type alone. */
  readonly [contextType]?: Context;
}

/** The callback data in the URL of a request. */
export interface Called {
  /** Path and query without the token. */
  readonly url: string;
  /**
   * JSON text; null without a token of {@link Callbacks.url}, {@link withoutContext} if that carries none, {@link withoutToken}
   * without the token that is required.
   */
  readonly context: string | null;
  /** Of a token made for a request; null for any other. */
  readonly requestId: string | null;
  readonly token: "valid" | "invalid" | "missing";
}

/** Stored in place of a context where the token that is required is missing: no JSON text is empty. */
export const withoutToken = "";
/** Stored in place of a context that a token does not carry. */
const withoutContext = " ";

/** Why a genuine delivery is held whose token is missing. */
export const noToken =
  "It is genuine, but came without the token that callback.require asks for, or with one of a secret that is gone or of a request that is not known. If its request is among the reports, settle that instead. Else check that you requested the report, then release it: handlers get no context.";

/** Whether a delivery lacks the token that is required; one that was stored before it was has none at all. */
export function lacksToken(
  { context, requestId, released }: Pick<Called, "context" | "requestId"> & { released: boolean },
  callbacks: Callbacks | undefined,
): boolean {
  const isMissing = context === withoutToken || (context === null && requestId === null);
  return isMissing && !released && callbacks?.require === true;
}

const parameter = "callback_token";
const longest = 255;
// A mark, 26 characters encoded, and a signature: all that carry the id of a request are as long.
const requestToken = /* @__PURE__ */ "x".repeat(81);

/** The option `callback`: makes signed callback URLs, and checks those of requests. No other place handles tokens in URLs. */
export class Callbacks {
  readonly require: boolean;
  readonly overdueMs: number;
  /** The base of the URLs of requests. */
  readonly address: string | undefined;
  readonly #tokens: CallbackTokens;
  readonly #oncePerMinute: OncePerMinute;

  /**
   * `receiver` is the name of the receiver that the tokens are good for.
   *
   * @throws TypeError that names what is wrong with the option
   */
  constructor(callback: CallbackOptions, receiver: string, oncePerMinute: OncePerMinute) {
    const option = "createReceiver: callback";
    const names = ["secrets", "require", "url", "overdueMs"];
    assertKnownKeys("createReceiver", callback, names, "callback.");
    const { secrets, require = false, url, overdueMs = 86_400_000 } = callback;
    checkSecrets(`${option}.secrets`, secrets);
    assertBoolean(`${option}.require`, require);
    if (url !== undefined) {
      checkBase(`${option}.url`, url);
      withToken(`${option}.url`, url, requestToken);
    }
    assertSpan(`${option}.overdueMs`, overdueMs);
    this.require = require;
    this.overdueMs = overdueMs;
    this.address = url;
    this.#tokens = new CallbackTokens([...secrets], receiver);
    this.#oncePerMinute = oncePerMinute;
  }

  /**
   * A signed URL: `base` with a token for the context.
   *
   * Rejects with a TypeError when `base` is no absolute http(s) URL, the context is nothing that JSON can hold, or the URL is too long.
   */
  async url(base: string, context: unknown): Promise<string> {
    checkBase("callbackUrl: base", base);
    const json = context === undefined ? "" : jsonText("callbackUrl: context", context);
    if (json.length > longest) {
      throw new TypeError(
        `callbackUrl: context is ${json.length} characters of JSON, in a URL of at most ${longest}: give an id instead`,
      );
    }
    return withToken("callbackUrl: base with the context", base, await this.#tokens.sign(json));
  }

  /** A signed URL whose token carries the id of a request alone. */
  async urlOfRequest(base: string, id: string): Promise<string> {
    return withToken("callback.url", base, await this.#tokens.sign(id, "request"));
  }

  /** Reads the path and query of a request, and verifies its token. */
  async verify(url: string): Promise<Called> {
    const { rest, token: text } = split(url);
    const content = text === null ? null : await this.#tokens.verify(text);
    if (content !== null) {
      const requestId = content.kind === "request" ? content.text : null;
      const context = requestId === null ? content.text || withoutContext : null;
      return { url: rest, context, requestId, token: "valid" };
    }
    const token = text === null ? "missing" : "invalid";
    if (!this.require) this.#oncePerMinute.warn({ token }, messages.tokenMissing);
    return { url: rest, context: this.require ? withoutToken : null, requestId: null, token };
  }
}

function checkSecrets(option: string, secrets: unknown): void {
  if (!Array.isArray(secrets) || secrets.length === 0) {
    const given = Array.isArray(secrets) ? "an empty one" : typeName(secrets);
    fail(option, "an array of at least one secret", given);
  }
  for (const [index, secret] of secrets.entries()) {
    if (typeof secret === "string" && secret.length >= 32) continue;
    const expected = "at least 32 characters, such as `openssl rand -base64 32` prints";
    const given = typeof secret === "string" ? `${secret.length}` : typeName(secret);
    fail(`${option}[${index}]`, expected, given);
  }
}

function checkBase(name: string, base: unknown): void {
  // Messages quote neither: an address may hold a secret, and a context is private.
  if (!isHttpUrl(base)) {
    throw new TypeError(`${name} ${mustBeHttpUrl("https://app.example/webhooks/reports", base)}`);
  }
  if (split(new URL(base).search).token !== null) {
    throw new TypeError(`${name} carries a ${parameter} already: give it without one`);
  }
}

function withToken(name: string, base: string, token: string): string {
  const url = new URL(base);
  url.search += `${url.search === "" ? "?" : "&"}${parameter}=${token}`;
  if (url.href.length <= longest) return url.href;
  const { length } = url.href;
  throw new TypeError(`${name} is too long: ${length} characters with its token, of ${longest}`);
}

/** The same of a request whose token means nothing here, and is not kept either. */
export function uncalled(url: string): Called {
  return { url: split(url).rest, context: null, requestId: null, token: "missing" };
}

/** Splits a path and query into its first token and the rest. */
export function split(url: string): { readonly rest: string; readonly token: string | null } {
  const at = url.indexOf("?");
  const parts = at === -1 ? [] : url.slice(at + 1).split("&");
  const isToken = (part: string): boolean => {
    const [name = "", value] = part.split("=", 2);
    return value !== undefined && decoded(name) === parameter;
  };
  // A callback URL may have a fragment, which no request has.
  const [token] = parts.find(isToken)?.replace(/^.*?=/, "").split("#", 1) ?? [];
  if (token === undefined) return { rest: url, token: null };
  const others = parts.filter((part) => !isToken(part)).join("&");
  return { rest: url.slice(0, others === "" ? at : at + 1) + others, token };
}

/** A name as it was before its letters were percent-encoded. Not by decodeURIComponent: a stranger can make it throw a thousand times. */
function decoded(name: string): string {
  return name.replace(/%[0-7][\da-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
}

/** The context as it was given; undefined without one. */
export function contextOf({ context }: { readonly context: string | null }): unknown {
  return context?.trim() ? JSON.parse(context) : undefined;
}
