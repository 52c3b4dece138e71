import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import {
  type Answer,
  alreadyRead,
  type BodyFailure,
  type BodyReading,
  type Incoming,
  isBytes,
  readAlready,
} from "./incoming.ts";
import type { Receiver } from "./receiver-type.ts";

/** What may have been read before us. */
export interface AlreadyParsed {
  /** Path and query as the sender wrote them. */
  readonly url: string;
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** How long a sender that is cut off may go on sending, so that it gets to read the answer, in milliseconds. */
const lingerMs = 500;

/**
 * A handler for `http.createServer`: answers everything that reaches it.
 *
 * @example http.createServer(nodeHandler(receiver)).listen(3000);
 */
export function nodeHandler(
  receiver: Pick<Receiver, "mount">,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const answer = receiver.mount();
  return async (req, res) => send(req, res, await answer(incomingFromNode(req, parsedOf(req))));
}

/**
 * A Node request as the receiver takes it.
 *
 * @example
 * const answer = receiver.mount();
 * http.createServer(async (req, res) => {
 *   send(req, res, await answer(incomingFromNode(req, { url: req.url ?? "/" })));
 * });
 */
export function incomingFromNode(req: IncomingMessage, parsed: AlreadyParsed): Incoming {
  return {
    method: req.method ?? "",
    url: parsed.url,
    headers: req.headers,
    readBody(limit) {
      const { rawBody, body } = parsed;
      const isRaw = typeof rawBody === "string" || isBytes(rawBody);
      if (isRaw) return readAlready(alreadyRead(rawBody), limit);
      if (req.readableDidRead) return readAlready(alreadyRead(body), limit);
      // A parser ahead has met the end of an empty body: no other end will come.
      return req.readableEnded ? readAlready(new Uint8Array(), limit) : readStream(req, limit);
    },
  };
}

/**
 * Sends an answer over a Node response.
 *
 * @example
 * const answer = receiver.mount();
 * http.createServer(async (req, res) => {
 *   send(req, res, await answer(incomingFromNode(req, { url: req.url ?? "/" })));
 * });
 */
export function send(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  if (res.headersSent || res.destroyed) return;
  // Not spread: in front of another property that makes V8 describe the object anew for each answer.
  const headers: OutgoingHttpHeaders = {};
  for (const name of Object.keys(answer.headers)) headers[name] = answer.headers[name];
  headers["Content-Length"] = Buffer.byteLength(answer.body);
  res.writeHead(answer.status, headers);
  const body = bodyOf(req, answer);
  if (typeof body === "string") res.end(body);
  else body.pipe(res);
}

/**
 * The answer's body; when the connection is to be closed, a stream that ends only once the sender has stopped sending:
 * closed earlier, the connection would be reset and the answer lost.
 *
 * @example
 * const answer = receiver.mount();
 * new Koa().use(async (ctx) => {
 *   const answered = await answer(incomingFromNode(ctx.req, { url: ctx.originalUrl }));
 *   ctx.status = answered.status;
 *   ctx.set(answered.headers);
 *   ctx.body = bodyOf(ctx.req, answered);
 * });
 */
export function bodyOf(req: IncomingMessage, { headers, body }: Answer): string | Readable {
  if (headers["Connection"] !== "close" || req.complete || req.destroyed) return body;
  return Readable.from(lingering(req, body), { objectMode: false });
}

async function* lingering(req: IncomingMessage, body: string): AsyncGenerator<string> {
  yield body;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, lingerMs);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    req.once("end", done).once("close", done).once("error", done);
    req.resume();
  });
}

function parsedOf(req: IncomingMessage): AlreadyParsed {
  const { originalUrl, body, rawBody } = req as IncomingMessage & {
    originalUrl?: string;
    body?: unknown;
    rawBody?: unknown;
  };
  return { url: originalUrl ?? req.url ?? "/", body, rawBody };
}

function readStream(req: IncomingMessage, limit: number): BodyReading {
  const chunks: Buffer[] = [];
  let size = 0;
  let over = false;
  let settle = (_result: Uint8Array | BodyFailure): void => {};
  const onData = (chunk: Buffer | string): void => {
    // Text where something ahead has called setEncoding.
    const bytes =
      typeof chunk === "string" ? Buffer.from(chunk, req.readableEncoding ?? "utf8") : chunk;
    size += bytes.byteLength;
    if (size > limit) fail("too_large");
    else chunks.push(bytes);
  };
  const onEnd = (): void => {
    over = true;
    const [first] = chunks;
    settle(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size));
  };
  const fail = (why: BodyFailure): void => {
    over = true;
    req.off("data", onData).off("end", onEnd).pause();
    settle(why);
  };
  // Also at the end of every request that was read: to stop listening would cost more, and so does settling once more.
  const onCut = (): void => {
    if (!over) fail("cut_off");
  };
  const result = new Promise<Uint8Array | BodyFailure>((resolve) => {
    settle = resolve;
  });
  req.on("data", onData).on("end", onEnd).on("close", onCut).on("error", onCut);
  if (req.destroyed) onCut();
  return { result, stop: onCut };
}
