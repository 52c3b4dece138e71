import { tryGet } from "../lib/safe-get.ts";
import { connectionOf } from "./closed-server.ts";
import {
  type Answer,
  type BodyFailure,
  type BodyReading,
  concat,
  fitting,
  type Incoming,
  isEncoded,
  keptBytes,
  type Read,
  rawBytes,
  readingOf,
} from "./incoming.ts";
import { type NodeStream, readOrLeft } from "./node-body.ts";

/** Facts that an adapter adds to a web standard request. */
export interface FetchHost {
  /** The request of Node that it was made of, where parsers ahead leave a body: `c.env.incoming` in Hono. */
  readonly node?: object | undefined;
  /** Whether something else has answered. */
  answered?(): boolean;
}

/**
 * Converts a web standard request; `read` returns a body that something ahead has read and kept.
 *
 * @throws TypeError when it is given something else, such as a request of Node
 * @example const answer = await receiver.mount()(incomingFromRequest(request));
 */
export function incomingFromRequest(
  request: Request,
  read?: () => Promise<ArrayBuffer>,
  host: FetchHost = {},
): Incoming {
  assertRequest(request);
  const node = tryGet(() => nodeOf(request, host));
  return {
    method: request.method,
    url: node?.originalUrl ?? pathAndQuery(request.url),
    headers: request.headers,
    multiplexed: node !== undefined && node.httpVersionMajor > 1,
    connection: node && connectionOf(node),
    answered: () => host.answered?.() === true,
    readBody: (limit) =>
      node === undefined
        ? readBody(request, limit, read)
        : readOrLeft(node, limit, () => readBody(request, limit, read)),
  };
}

/**
 * Converts an answer to a web standard response.
 *
 * @example const response = toResponse(await receiver.mount()(incomingFromRequest(request)));
 */
export function toResponse({ status, headers, body }: Answer): Response {
  // Not every server counts it: some send an answer of ours in chunks.
  const length = new TextEncoder().encode(body).byteLength;
  return new Response(body, { status, headers: { ...headers, "Content-Length": String(length) } });
}

/** By its members: it may be of another realm, or of another fetch. */
function assertRequest(given: unknown): asserts given is Request {
  const { url, headers, text, arrayBuffer } = (given ?? {}) as Partial<Request>;
  const hasBody = typeof (text ?? arrayBuffer) === "function";
  if (hasBody && typeof url === "string" && typeof headers?.get === "function") return;
  throw new TypeError(
    "receiver.fetch takes a web standard Request. With Express, Koa or Hono mount reporthook(receiver) of the adapter, with node:http nodeHandler(receiver) of @reporthook/core/node",
  );
}

function pathAndQuery(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("#");
  return start === -1 ? "/" : url.slice(start, end === -1 ? undefined : end);
}

/** Requests of srvx, as in h3 and Nitro, name theirs. */
function nodeOf(
  request: Request & { readonly runtime?: { readonly node?: { readonly req?: object } } },
  host: FetchHost,
): (NodeStream & { readonly originalUrl?: string }) | undefined {
  const node = host.node ?? request.runtime?.node?.req;
  return node !== undefined && "readableDidRead" in node ? (node as NodeStream) : undefined;
}

/** Reads the body that something ahead has read and kept. */
type ReadKept = (() => Promise<ArrayBuffer>) | undefined;

function readBody(request: Request, limit: number, read: ReadKept): BodyReading {
  if (request.bodyUsed) return readKept(read, limit);
  const { headers } = request;
  const announced = headers.get("content-length");
  // A server lets no more through than was announced, but for what is unpacked ahead: no need for a stream, which costs more
  // than all the rest.
  if (announced !== null && Number(announced) <= limit && !isEncoded(headers)) {
    return readAtOnce(request, limit, read);
  }
  const { body } = request;
  if (body === null) return readingOf(wholeOf(new Uint8Array(), headers), limit);
  if (body?.locked) return readKept(read, limit);
  // Some implementations of fetch have no stream there, or one of Node.
  if (typeof body?.getReader !== "function") return readAtOnce(request, limit, read);
  const reader = body.getReader();
  // Not cancelled: some hosts end the connection then, and the answer with it.
  let stopped = false;
  const stop = (): void => {
    stopped = true;
  };
  const result = collect(reader, limit, () => stopped).then((body) => wholeOf(body, headers));
  return { result, stop };
}

function readAtOnce(request: Request, limit: number, read: ReadKept): BodyReading {
  const result = contentOf(request).then(
    (body) => fitting(wholeOf(keptBytes(body), request.headers), limit),
    // If something ahead holds the stream, it is unread; if it was read, the sender broke off.
    () => (request.bodyUsed ? "cut_off" : readKept(read, limit).result),
  );
  return { result, stop() {} };
}

/** The fetch of some platforms has text only. */
async function contentOf(request: Request): Promise<ArrayBuffer | string> {
  try {
    return await request.arrayBuffer();
  } catch (error) {
    if (request.bodyUsed) throw error;
    return request.text();
  }
}

/**
 * Checks that a body is whole. Some hosts end a body where the sender broke off, and many show an empty body after something
 * ahead has read it.
 */
function wholeOf(body: Read, headers: Headers): Read {
  if (typeof body === "string") return body;
  const announced = Number(headers.get("content-length"));
  if (body.byteLength === 0) {
    return announced > 0 || headers.has("transfer-encoding") ? "unavailable" : body;
  }
  if (!(body.byteLength < announced)) return body;
  // Other hosts unpack it, or write again what they have parsed: a part of a JSON text is none.
  const isJson = tryGet(() => JSON.parse(new TextDecoder().decode(body))) !== undefined;
  return isEncoded(headers) || isJson ? body : "cut_off";
}

function readKept(read: ReadKept, limit: number): BodyReading {
  if (read === undefined) return readingOf("unavailable", limit);
  const result = read().then(
    (body) => fitting(keptBytes(body), limit),
    (): BodyFailure => "unavailable",
  );
  return { result, stop() {} };
}

async function collect(
  reader: ReadableStreamDefaultReader<unknown>,
  limit: number,
  isStopped: () => boolean,
): Promise<Read> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return concat(chunks, size);
      if (isStopped()) return "cut_off";
      const bytes = rawBytes(value);
      if (bytes === null) return "unavailable";
      size += bytes.byteLength;
      if (size > limit) return "too_large";
      chunks.push(bytes);
    }
  } catch {
    return "cut_off";
  }
}
