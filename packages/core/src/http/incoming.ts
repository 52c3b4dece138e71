import { tryGet } from "../lib/safe-get.ts";
import { isPlain } from "../lib/validate.ts";

/** The headers of a request: web standard, or Node's `req.headers`. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | string[] | undefined>>;

/** Why there is no body: over the limit, consumed by something ahead, or cut off by the sender. */
export type BodyFailure = "too_large" | "unavailable" | "cut_off";

/** A body on its way. */
export interface BodyReading {
  /** A promise never rejects; a body that was read already is no promise. */
  readonly result: Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>;
  /** Stops reading and drops the bytes read so far. */
  stop(): void;
}

/** The result of reading a body. */
export type Read = Uint8Array | BodyFailure;

/** A request as an adapter hands it over. */
export interface Incoming {
  readonly method: string;
  /** Path and query as the sender wrote them, mount prefix included. */
  readonly url: string;
  readonly headers: IncomingHeaders;
  /** Whether other requests share the connection, as in HTTP/2: then it is never closed after an answer. */
  readonly multiplexed?: boolean;
  /** The socket of Node that it came on, or its HTTP/2 session: `close` waits for it once the server is closed. */
  readonly connection?: object | undefined;
  /** Whether something else has answered: then the sender does not get the receiver's answer. Asked once, when that is made. */
  answered?(): boolean;
  /** Starts reading at most `limit` bytes; called once. */
  readBody(limit: number): BodyReading;
}

/** An answer as an adapter has to send it, byte for byte. */
export interface Answer {
  readonly status: number;
  /** Without content-length: that is the adapter's to count, in bytes. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The context that a serverless platform passes with a request. */
export interface FetchContext {
  /** Keeps the instance alive until the promise is settled. */
  waitUntil?(promise: Promise<unknown>): void;
}

/** Answers the requests to a receiver. It never rejects. */
export type Endpoint = ReturnType<Mountable["mount"]>;

/** The part of a receiver that an adapter needs. */
export interface Mountable {
  /** For adapters: schedules the start, and returns the function that answers requests. It never rejects. */
  mount(): (incoming: Incoming, context?: FetchContext) => Promise<Answer>;
}

/**
 * For adapters: checks that the argument is a receiver; `line` is the correct code for the error message.
 *
 * @throws TypeError that shows the line
 * @example checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
 */
export function checkReceiver(receiver: unknown, line: string): asserts receiver is Mountable {
  const given = receiver as { readonly mount?: unknown } | null | undefined;
  if (typeof given?.mount === "function") return;
  throw new TypeError(
    `There is no receiver to mount. Write: ${line}, where receiver is createReceiver({ client })`,
  );
}

/** The value of the header `name` (lower case), or null; equal ones are one, others are joined by a comma. */
export function headerOf(headers: IncomingHeaders, name: string): string | null {
  const value = isWebStandard(headers) ? headers.get(name) : headers[name];
  if (typeof value === "string") return value.includes(",") ? singleValue(value) : value;
  // Inherited properties of a plain object are neither.
  return Array.isArray(value) ? singleValue(value.join(", ")) : null;
}

/** Whether the sender has packed the body. */
export function isEncoded(headers: IncomingHeaders): boolean {
  const encoding = headerOf(headers, "content-encoding")?.trim().toLowerCase();
  return ![undefined, "", "identity"].includes(encoding);
}

/** All headers as a plain object with lower-case names. */
export function plainHeaders(headers: IncomingHeaders): Record<string, string> {
  const names = isWebStandard(headers) ? [...headers.keys()] : Object.keys(headers);
  return Object.fromEntries(
    names.map((name) => [name.toLowerCase(), headerOf(headers, name) ?? ""]),
  );
}

/** Called for each header of each request: `instanceof` would take as long as the rest of it. */
function isWebStandard(headers: IncomingHeaders): headers is Headers {
  return typeof headers.get === "function";
}

/** The single value of a header that repeats it: most hosts join several headers of one name. */
function singleValue(joined: string): string {
  for (const comma of [", ", ","]) {
    const length = joined.length + comma.length;
    for (let end = joined.indexOf(comma); end > 0; end = joined.indexOf(comma, end + 1)) {
      const part = joined.slice(0, end + comma.length);
      const times = length / part.length;
      if (Number.isInteger(times) && part.repeat(times) === joined + comma) {
        return joined.slice(0, end);
      }
    }
  }
  return joined;
}

const { toString: tagOf } = Object.prototype;

/** A body that something ahead has left: its bytes, text or parsed object. */
export function keptBytes(body: unknown): Read {
  const bytes = () => rawBytes(body) ?? rawBytes(isPlain(body) ? JSON.stringify(body) : undefined);
  return tryGet(bytes) ?? "unavailable";
}

/** A copy of the bytes of what is bytes, from any realm, or text, for the app may use them again; null for anything else. */
export function rawBytes(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (typeof value === "string") return new TextEncoder().encode(value);
  const isBuffer = tagOf.call(value) === "[object ArrayBuffer]";
  return isBuffer ? new Uint8Array(value as ArrayBuffer).slice() : null;
}

/** One array of all the chunks, which have `size` bytes together. */
export function concat(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

/** Makes a {@link BodyReading} of a body that was read already, held to `limit`. */
export function readingOf(body: Read, limit: number): BodyReading {
  return { result: fitting(body, limit), stop() {} };
}

/** A body that is not over the limit. */
export function fitting(body: Read, limit: number): Read {
  return typeof body === "string" || body.byteLength <= limit ? body : "too_large";
}
