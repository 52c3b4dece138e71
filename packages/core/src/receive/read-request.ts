import { type Recognition, recognize, toObject } from "../events/recognize.ts";
import type { ProblemCode } from "../http/answer.ts";
import {
  type BodyFailure,
  type BodyReading,
  headerOf,
  type Incoming,
  isEncoded,
  plainHeaders,
  readingOf,
} from "../http/incoming.ts";
import type { KeptHeaders, NewDelivery } from "../inbox/delivery.ts";
import { assertNoPromise } from "../lib/is-promise.ts";
import { tryGet } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import { redactSecrets } from "../lib/text/redact.ts";
import type { Limits, SignatureSource } from "../options/receiver-options.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/** The data read from a request; nothing here is verified. */
export interface ReceivedNotification extends Pick<NewDelivery, "url" | "headers" | "signature"> {
  /** The event that an unsigned body claims to be; signed bodies are read once they are verified. */
  readonly claims: Recognition | null;
}

/** Maximum bytes of a body without a signature. */
const unsignedBodyBytes = 4_096;
/** Maximum length of a stored path and query; the rest is cut. */
const urlLength = 2_048;
/** Longer text is no signature. */
const signatureLength = 4_096;
const headerLength = 1_024;
const unrecognized: Recognition = { type: "unknown", reportId: null };
const keptHeaders = ["content-type", "user-agent", "traceparent"];
/** Why a request without its body is refused. */
export const bodyRefusals: Record<BodyFailure | "late", ProblemCode> = {
  too_large: "body_too_large",
  unavailable: "body_unavailable",
  cut_off: "body_timeout",
  late: "body_timeout",
};

/** The parts that most deliveries of a receiver have in common: in memory once, not for each that waits. */
export class CommonParts {
  #url = "";
  #headers: KeptHeaders = {};

  /** The path and query to keep. */
  url(given: string): string {
    if (given !== this.#url) this.#url = cut(given, urlLength);
    return this.#url;
  }

  /** The headers to keep. */
  headers(given: Incoming["headers"]): KeptHeaders {
    const kept = (name: string): string | undefined => {
      const value = headerOf(given, name);
      return value === null ? undefined : cut(value, headerLength);
    };
    if (keptHeaders.some((name) => kept(name) !== this.#headers[name])) {
      const values = keptHeaders.map((name) => [name, kept(name)]);
      this.#headers = Object.freeze(
        Object.fromEntries(values.filter(([, value]) => value !== undefined)),
      );
    }
    return this.#headers;
  }
}

/** Begins to read the body of a request, bounded in size; `named` is its {@link namedSignature}. */
export function beginBody(
  incoming: Incoming,
  named: string | null | undefined,
  { bodyBytes }: Limits,
): BodyReading {
  // An unsigned body must not use as much memory as a signed one.
  const limit = named === null ? Math.min(unsignedBodyBytes, bodyBytes) : bodyBytes;
  const announced = Number(headerOf(incoming.headers, "content-length"));
  if (announced > limit) return readingOf("too_large", limit);
  // It throws if something ahead holds the stream.
  return tryGet(() => incoming.readBody(limit)) ?? readingOf("unavailable", limit);
}

/**
 * Reads a request with its body; refuses only one that can't be genuine. `url` is the one without a token, `named` its
 * {@link namedSignature}.
 */
export function readNotification(
  { headers }: Incoming,
  url: string,
  body: Uint8Array,
  named: string | null | undefined,
  { redact, parse, signature: source }: ReceiverSettings,
  common: CommonParts,
): ReceivedNotification | ProblemCode {
  const signature =
    typeof source === "string"
      ? (named ?? null)
      : signatureIn(source, { headers, url }, body, redact);
  const isNamed = typeof source === "string" || signature === null;
  const kept = common.headers(headers);
  const claims = signature === null ? claimsOf(body, headers, kept, parse) : null;
  if (typeof claims === "string") return claims;
  const path = common.url(isNamed ? url : withoutSignature(url, signature));
  return { url: path, headers: kept, signature, claims };
}

/** The event that an unsigned body claims to be, or why it is refused. */
function claimsOf(
  body: Uint8Array,
  headers: Incoming["headers"],
  kept: KeptHeaders,
  parse: ReceiverSettings["parse"],
): Recognition | ProblemCode {
  if (body.byteLength > unsignedBodyBytes) return "body_too_large";
  if (!isPlainJson(headers)) return "unsupported_media_type";
  const object = toObject(body);
  if (object === null) return "invalid_json";
  // Anyone can send a body that parse fails on; once released, the handle stage reports the error.
  return tryGet(() => recognize(object, kept, parse)) ?? unrecognized;
}

function signatureIn(
  source: Exclude<SignatureSource, string>,
  { headers, url }: Pick<Incoming, "headers" | "url">,
  body: Uint8Array,
  redact: ReceiverSettings["redact"],
): string | null {
  const request = { headers: plainHeaders(headers), url, body: new TextDecoder().decode(body) };
  try {
    const found = source(request);
    assertNoPromise("signature", found);
    return nonBlank(found);
  } catch (error) {
    const content = JSON.stringify([Object.values(request.headers), url, request.body]);
    // It may quote the request, and a signature with it.
    const text = describe(error, redact).replaceAll(/[^\s"'`,:;()<>[\]{}=&?!.]{8,}/g, (word) =>
      content.includes(word) ? "[of the request]" : word,
    );
    throw new Error(`The function of the option signature failed: ${text}`);
  }
}

/** Removes a signature from the URL: like any other it must not be kept after the verdict. */
function withoutSignature(url: string, signature: string): string {
  const shown = redactSecrets(url, { signature });
  return shown.replaceAll(/(?<=[?&][^?&=]*=)[^&]+/g, (value) =>
    new URLSearchParams(`=${value}`).get("")?.trim() === signature ? "[signature]" : value,
  );
}

/** The signature in the header that the option names; null without, undefined where a function of the option finds it. */
export function namedSignature(
  headers: Incoming["headers"],
  source: SignatureSource,
): string | null | undefined {
  return typeof source === "string" ? nonBlank(headerOf(headers, source)) : undefined;
}

/** A signature without white space around it; null for a blank one, and for text that can be none. */
function nonBlank(given: unknown): string | null {
  const signature = typeof given === "string" ? given.trim() : "";
  return signature === "" || signature.length > signatureLength ? null : signature;
}

/** Copies a part of a text: a slice would keep the whole text in memory. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return new TextDecoder().decode(new TextEncoder().encode(text.slice(0, length)));
}

// The characters that RFC 6838 allows in a name.
const jsonType = /^[a-z]+\/(?:[a-z0-9][\w!#$&^.+-]*\+)?json$/;

function isPlainJson(headers: Incoming["headers"]): boolean {
  const type = headerOf(headers, "content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  return !isEncoded(headers) && (type === "" || jsonType.test(type));
}
