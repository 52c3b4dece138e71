/** The headers of a request: web standard, or Node's `req.headers`. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | string[] | undefined>>;

/** Why there is no body: over the limit, consumed by something ahead, or cut off by the sender. */
export type BodyFailure = "too_large" | "unavailable" | "cut_off";

/** A body on its way. */
export interface BodyReading {
  /** A promise never rejects; what was there already is no promise. */
  readonly result: Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>;
  /** Stops reading; what came so far is dropped. */
  stop(): void;
}

/** A request as an adapter hands it over. */
export interface Incoming {
  readonly method: string;
  /** Path and query as the sender wrote them, mount prefix included. */
  readonly url: string;
  readonly headers: IncomingHeaders;
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

/** The value of the header `name` (lower case), several joined by a comma, or null. */
export function headerOf(headers: IncomingHeaders, name: string): string | null {
  if (isWebStandard(headers)) return headers.get(name);
  const value = headers[name];
  if (typeof value === "string") return value;
  // What a plain object inherits is neither.
  return Array.isArray(value) ? value.join(", ") : null;
}

/** All headers as a plain object with lower-case names. */
export function plainHeaders(headers: IncomingHeaders): Record<string, string> {
  const names = isWebStandard(headers) ? [...headers.keys()] : Object.keys(headers);
  return Object.fromEntries(
    names.map((name) => [name.toLowerCase(), headerOf(headers, name) ?? ""]),
  );
}

/** Asked for each header of each request: `instanceof` takes as long as all the rest of it. */
function isWebStandard(headers: IncomingHeaders): headers is Headers {
  return typeof headers.get === "function";
}

/** Whether a value holds bytes, whatever looks at them. */
export function isBytes(value: unknown): value is ArrayBuffer | ArrayBufferView {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

/** What body is there when something ahead has read the stream: its bytes, text or parsed object. */
export function alreadyRead(body: unknown): Uint8Array | BodyFailure {
  if (body instanceof Uint8Array) return body;
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
  }
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body === undefined || typeof body === "function") return "unavailable";
  try {
    const text: string | undefined = JSON.stringify(body);
    return text === undefined ? "unavailable" : new TextEncoder().encode(text);
  } catch {
    return "unavailable";
  }
}

/** A {@link BodyReading} of what is there already, held to `limit`. */
export function readAlready(body: Uint8Array | BodyFailure, limit: number): BodyReading {
  const fits = typeof body === "string" || body.byteLength <= limit;
  return { result: fits ? body : "too_large", stop() {} };
}
