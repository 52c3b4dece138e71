import { rawBytes } from "../http/incoming.ts";
import { safeGet, tryGet } from "../lib/safe-get.ts";
import type { ServiceResponse } from "./service-response.ts";

/** The part of a `Response` that is used. */
export interface FetchResponse {
  readonly status: number;
  readonly type?: string;
  readonly redirected?: boolean;
  readonly headers: { get(name: string): string | null };
  /** A web stream, or one of Node as node-fetch gives; without either, `text` or `arrayBuffer` is called. */
  readonly body?: WebStream | AsyncIterable<Uint8Array | string> | null;
  text?(): Promise<string>;
  arrayBuffer?(): Promise<ArrayBuffer>;
}

interface WebStream {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/** The part of a body that has arrived. */
export interface BodyText {
  text: string;
  /** Whether that is all of it. */
  isWhole: boolean;
}

const maxBodyBytes = 65_536;
// superagent; ofetch; axios and ky; got and undici.
const keptUnder = ["text", "_data", "data", "body", "rawBody"];

/** Thrown where the body is nowhere to be found: the service may have named a report in it. */
export class BodyLost extends TypeError {
  override readonly name = "TypeError";
}

/**
 * Reads the first 64 KiB of a body, in the way that its answer can be read: from its stream, or where a fetch that has read it
 * keeps it. Rejects when it breaks off.
 */
export async function readBody(
  response: ServiceResponse,
  into: BodyText,
  signal: AbortSignal,
): Promise<void> {
  const decoder = new TextDecoder();
  let left = maxBodyBytes;
  for await (const piece of piecesOf(bodyOf(response), signal)) {
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
    into.text += decoder.decode(bytes.subarray(0, left), { stream: true });
    left -= bytes.byteLength;
    if (left < 0) return;
  }
  into.text += decoder.decode();
  into.isWhole = !signal.aborted;
}

/** The body: a stream, the value that a fetch keeps in its place, or an object with `text` or `arrayBuffer`. */
function bodyOf(response: ServiceResponse): unknown {
  const { parts } = response;
  const bodies = parts.map((part) => safeGet(part, "body"));
  const used = parts.some(isUsed) || bodies.some(isUsed);
  // A response of node:http is its body.
  const stream = used ? undefined : [...bodies, ...parts].find(isStream);
  if (stream !== undefined) return stream;
  const kept = parts.flatMap((part) => keptUnder.map((name) => safeGet(part, name)));
  const value = kept.find(isKept);
  if (value !== undefined) return value;
  const readable = parts.find((part) => hasMethod(part, "text") || hasMethod(part, "arrayBuffer"));
  if (readable !== undefined && !used) return readable;
  const isEmpty = [204, 205].includes(response.status) || response.header("content-length") === "0";
  const { thrown: cause } = response;
  const hasNone = bodies.every((body) => body === undefined || body === null);
  if (isEmpty || (hasNone && !used && cause === undefined)) return undefined;
  throw new BodyLost("The fetch given kept no body that can be read", { cause });
}

async function* piecesOf(
  body: unknown,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | string, void> {
  if (body === undefined) return;
  const bytes = rawBytes(body);
  if (bytes !== null) yield bytes;
  else if (isWebStream(body)) yield* read(body, signal);
  else if (isStream(body)) yield* body;
  else if (hasMethod(body, "text")) yield String(await body.text());
  else if (hasMethod(body, "arrayBuffer")) {
    yield new Uint8Array((await body.arrayBuffer()) as ArrayBuffer);
  } else yield JSON.stringify(body) ?? "";
}

function isWebStream(body: unknown): body is WebStream {
  return hasMethod(body, "getReader");
}

function isStream(body: unknown): body is AsyncIterable<Uint8Array | string> {
  return isWebStream(body) || hasMethod(body, Symbol.asyncIterator);
}

/** Whether a response or a stream was read, or is being read by something else. */
function isUsed(of: unknown): boolean {
  return ["bodyUsed", "locked", "readableDidRead", "destroyed"].some(
    (name) => safeGet(of, name) === true,
  );
}

/** Whether a value may be a body that was read: text, bytes, a blob, a stream, or parsed JSON. */
function isKept(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return value !== undefined && typeof value !== "function" && value !== null;
  if (isStream(value)) return !isUsed(value);
  const tag = Object.prototype.toString.call(value);
  return /^\[object (?:Object|Array|ArrayBuffer|Blob)\]$/.test(tag) || ArrayBuffer.isView(value);
}

function hasMethod<Name extends string | symbol>(
  of: unknown,
  name: Name,
): of is Record<Name, () => unknown> {
  return typeof safeGet(of, name) === "function";
}

async function* read(body: WebStream, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  const stop = () => void Promise.resolve(tryGet(() => reader.cancel())).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value === undefined) return;
      yield value;
    }
  } finally {
    stop();
  }
}
