import { tryGet } from "../lib/safe-get.ts";
import {
  type BodyFailure,
  type BodyReading,
  concat,
  fitting,
  isEncoded,
  keptBytes,
  type Read,
  rawBytes,
  readingOf,
} from "./incoming.ts";

/** Where parsers and collectors leave a body. */
export interface KeptBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The members used of a request of Node, HTTP/1 or 2. */
export interface NodeStream {
  readonly readableEnded: boolean;
  readonly readableDidRead: boolean;
  readonly readableEncoding: string | null;
  readonly destroyed: boolean;
  readonly aborted?: boolean;
  readonly httpVersionMajor: number;
  readonly socket?: object;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  listenerCount(event: string): number;
  isPaused(): boolean;
  on(event: string, listener: (chunk: Uint8Array | string) => void): this;
  off(event: string, listener: (chunk: Uint8Array | string) => void): this;
  pause(): this;
  resume(): this;
}

/**
 * Reads the body of a request of Node, unless something ahead has kept it. Where something ahead has read a part and kept
 * nothing, `host` may have it all.
 */
export function readNode(
  req: NodeStream & KeptBody,
  kept: KeptBody,
  limit: number,
  host: () => Read | Promise<Read> = () => "unavailable",
): BodyReading {
  const ofObject = (): unknown => kept.rawBody || kept.body || req.body;
  if (!isStream(req)) return readingOf(keptBytes(tryGet(ofObject) ?? ""), limit);
  if (req.readableEnded) return readingOf(bodyLeft(req, kept), limit);
  const raw = req.readableDidRead || isRead(req) ? null : rawBodyOf(req, kept);
  if (raw !== null) return readingOf(raw, limit);
  return readStream(req, limit, async (rest) => {
    const left = bodyLeft(req, kept, rest);
    if (left !== "unavailable") return fitting(left, limit);
    const body = await host();
    // A host that has no more has not seen the beginning either.
    return isMore(body, rest.byteLength) ? body : left;
  });
}

/** The body that `read` gives; if there is none, the body that something ahead has left on the request of Node. */
export function readOrLeft(
  req: NodeStream & KeptBody,
  limit: number,
  read: () => BodyReading,
): BodyReading {
  // Something ahead listens: hosts may begin too late, or mistake for the body a buffer that is still being filled.
  if (isRead(req) && !req.readableEnded) {
    const own = readNode(req, req, limit, () => host.result);
    const host = read();
    const stop = (): void => {
      own.stop();
      host.stop();
    };
    return { result: own.result, stop };
  }
  let reading = read();
  let stopped = false;
  const result = Promise.resolve(reading.result).then((body) => {
    // HTTP/2 also emits `end` after the sender broke off.
    if (req.aborted === true && req.httpVersionMajor > 1) return "cut_off";
    if (isMore(body, 0) || stopped) return body;
    reading = readNode(req, req, limit);
    return reading.result;
  });
  const stop = (): void => {
    stopped = true;
    reading.stop();
  };
  return { result, stop };
}

/** Whether a request can be read: a mock of one, as in unit tests, is an object with a body. */
export function isStream(req: Pick<NodeStream, "readableDidRead">): boolean {
  // A mock that went through Express has the methods of a stream.
  return tryGet(() => req.readableDidRead) !== undefined;
}

/** Whether a body has, or would have, more than this many bytes. */
function isMore(body: Read, bytes: number): boolean {
  return typeof body === "string" ? body === "too_large" : body.byteLength > bytes;
}

/** Whether something listens to the stream. */
function isRead(req: NodeStream): boolean {
  return req.listenerCount("data") + req.listenerCount("readable") > 0;
}

/** The body that something ahead has left once the stream has ended, whose `rest` was read here. */
function bodyLeft(req: NodeStream, kept: KeptBody, rest: Uint8Array = new Uint8Array()): Read {
  if (req.aborted === true) return "cut_off";
  const raw = rawBodyOf(req, kept);
  if (raw !== null) return raw;
  const announced = Number(req.headers["content-length"]);
  // Something ahead has looked and put it back, or met the end of an empty body.
  if (rest.byteLength === announced || !(req.readableDidRead || announced > 0)) return rest;
  const body = keptBytes(tryGet(() => kept.body));
  return isEmptyObject(body) && announced !== 2 ? "unavailable" : body;
}

/** Reads to the end. Where something ahead has read the beginning, `whenBegun` finds the body. */
function readStream(
  req: NodeStream,
  limit: number,
  whenBegun: (rest: Uint8Array) => Promise<Read>,
): BodyReading {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let over = false;
  const isBegun = req.readableDidRead;
  const shared = isRead(req);
  let settle = (_result: Read | Promise<Read>): void => {};
  const onData = (chunk: Uint8Array | string): void => {
    const bytes = typeof chunk === "string" ? bytesOf(chunk, req.readableEncoding) : chunk;
    size += bytes?.byteLength ?? 0;
    if (bytes === null) fail("unavailable");
    else if (size > limit) fail("too_large");
    else chunks.push(bytes);
  };
  const onEnd = (): void => {
    // HTTP/2 also emits `end` after the sender broke off.
    if (req.aborted || (!isBegun && size < Number(req.headers["content-length"]))) onCut();
    if (over) return;
    over = true;
    const body = concat(chunks, size);
    // Collectors see the end in the same tick, or in its promises.
    if (isBegun) setTimeout(() => settle(whenBegun(body)), 0);
    else settle(body);
  };
  const fail = (why: BodyFailure): void => {
    over = true;
    req.off("data", onData).off("end", onEnd);
    if (!shared) req.pause();
    settle(why);
  };
  // Also at the end of every request that was read: to stop listening would cost more, and so does settling once more.
  const onCut = (): void => {
    if (!over) fail("cut_off");
  };
  const result = new Promise<Read>((resolve) => {
    settle = resolve;
  });
  req.on("data", onData).on("end", onEnd).on("close", onCut).on("error", onCut);
  if (req.destroyed) onCut();
  // Something ahead may have paused it to have time.
  else if (!shared && req.isPaused()) req.resume();
  return { result, stop: onCut };
}

/** The bytes of text, which comes where something ahead has called setEncoding; null of another encoding. */
function bytesOf(text: string, encoding: string | null): Uint8Array | null {
  if (encoding === "latin1") return Uint8Array.from(text, (char) => char.charCodeAt(0));
  return encoding === null || encoding === "utf8" ? new TextEncoder().encode(text) : null;
}

/** The raw body that something ahead has kept: not one that is empty, or has another length than was announced. */
function rawBodyOf(req: NodeStream, kept: KeptBody): Uint8Array | null {
  const raw = tryGet(() => rawBytes(kept.rawBody));
  if (!raw?.byteLength) return null;
  const announced = isEncoded(req.headers) ? undefined : req.headers["content-length"];
  return raw.byteLength === Number(announced ?? raw.byteLength) ? raw : null;
}

// Express 4 and Koa's parsers leave `{}` for a body that they skip.
function isEmptyObject(body: Read): boolean {
  return typeof body !== "string" && body.byteLength === 2 && body[0] === 0x7b && body[1] === 0x7d;
}
