import {
  alreadyRead,
  type BodyFailure,
  type BodyReading,
  fitting,
  isBytes,
  look,
  readAlready,
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
  readonly destroyed: boolean;
  readonly aborted?: boolean;
  readonly httpVersionMajor: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  listenerCount(event: string): number;
  isPaused(): boolean;
  on(event: string, listener: (chunk: Uint8Array | string) => void): this;
  off(event: string, listener: (chunk: Uint8Array | string) => void): this;
  pause(): this;
  resume(): this;
}

/** The body that something ahead of the receiver has read or is reading; null if it is unread. */
export function readKept(req: NodeStream, kept: KeptBody, limit: number): BodyReading | null {
  if (req.readableEnded) return readAlready(bodyLeft(req, kept), limit);
  if (req.readableDidRead) return readRest(req, kept, limit);
  const raw = isRead(req) ? null : rawBodyOf(kept);
  return raw === null ? null : readAlready(raw, limit);
}

/** The body that `read` gives; if there is none, the body that something ahead has left on the request of Node. */
export function readOrLeft(
  req: NodeStream & KeptBody,
  limit: number,
  read: () => BodyReading,
): BodyReading {
  // Hosts may mistake for the body a buffer that is still being filled.
  if (isRead(req) && !req.readableEnded && rawBodyOf(req) !== null) {
    return readRest(req, req, limit);
  }
  let reading = read();
  let stopped = false;
  const result = Promise.resolve(reading.result).then((body) => {
    // HTTP/2 also emits `end` after the sender broke off.
    if (req.aborted === true && req.httpVersionMajor > 1) return "cut_off";
    const found = typeof body === "string" ? body === "too_large" : body.byteLength > 0;
    if (found || stopped) return body;
    const left = readKept(req, req, limit);
    if (left !== null) reading = left;
    return reading.result;
  });
  const stop = (): void => {
    stopped = true;
    reading.stop();
  };
  return { result, stop };
}

/** Whether something listens to the stream. */
export function isRead(req: NodeStream): boolean {
  return req.listenerCount("data") + req.listenerCount("readable") > 0;
}

/** The body that something ahead has left, once the stream has ended. */
function bodyLeft(req: NodeStream, kept: KeptBody): Uint8Array | BodyFailure {
  if (req.aborted === true) return "cut_off";
  const raw = rawBodyOf(kept);
  // Empty although bytes arrived: nothing collected them.
  if (raw !== null && (raw.byteLength > 0 || !req.readableDidRead)) return raw;
  // A parser ahead has met the end of an empty body.
  if (!req.readableDidRead) return new Uint8Array();
  const body = alreadyRead(look(() => kept.body));
  const skipped = isEmptyObject(body) && Number(req.headers["content-length"]) > 2;
  return skipped ? "unavailable" : body;
}

/** Waits for the end of a stream that something ahead has begun to read: a buffer that is still being filled is not the body. */
function readRest(req: NodeStream, kept: KeptBody, limit: number): BodyReading {
  const collected = isRead(req);
  let rest = 0;
  let settle = (_result: Uint8Array | BodyFailure): void => {};
  const onData = (chunk: Uint8Array | string): void => {
    rest += chunk.length;
    if (rest > limit) finish("too_large");
    else if (!collected) finish("unavailable");
  };
  // Collectors see the end in the same tick, or in its promises.
  const onEnd = (): void => void setTimeout(() => finish(fitting(bodyLeft(req, kept), limit)), 0);
  const onCut = (): void => {
    if (!req.readableEnded) finish("cut_off");
  };
  const finish = (result: Uint8Array | BodyFailure): void => {
    req.off("data", onData).off("end", onEnd).off("close", onCut);
    settle(result);
  };
  const result = new Promise<Uint8Array | BodyFailure>((resolve) => {
    settle = resolve;
  });
  req.on("data", onData).on("end", onEnd).on("close", onCut).on("error", onCut);
  if (req.destroyed) onCut();
  else if (!collected) req.resume();
  return { result, stop: () => finish("cut_off") };
}

function rawBodyOf(kept: KeptBody): Uint8Array | null {
  const raw = look(() => kept.rawBody);
  const bytes = typeof raw === "string" || look(() => isBytes(raw)) ? alreadyRead(raw) : null;
  return typeof bytes === "string" ? null : bytes;
}

// Express 4 and Koa's parsers leave `{}` for a body that they skip.
function isEmptyObject(body: Uint8Array | BodyFailure): boolean {
  return typeof body !== "string" && body.byteLength === 2 && body[0] === 0x7b && body[1] === 0x7d;
}
