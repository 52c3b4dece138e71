import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { Readable } from "node:stream";
import { connectionOf } from "./closed-server.ts";
import {
  type Answer,
  type BodyReading,
  checkReceiver,
  type Incoming,
  type Mountable,
  plainHeaders,
} from "./incoming.ts";
import { isStream, type KeptBody, readNode } from "./node-body.ts";

/** A request of Node, HTTP/1 or 2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** A response of Node, HTTP/1 or 2. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The request of a framework and its parsers: that of Node itself, or another object. Its body is read late. */
export interface AlreadyParsed extends KeptBody {
  /** Path and query as the sender wrote them; without it {@link url}, which some rewrite. */
  readonly originalUrl?: string | undefined;
  readonly url?: string | undefined;
}

/** Milliseconds that a refused sender may continue to send, so that it can read the answer. */
const lingerMs = 500;
/** NGHTTP2_NO_ERROR: the answer is complete, and the rest of the request is not needed. */
const noError = 0;

/**
 * A handler for `http.createServer`: answers everything that reaches it.
 *
 * @throws TypeError when it is given no receiver
 * @example http.createServer(nodeHandler(receiver)).listen(3000);
 */
export function nodeHandler(
  receiver: Mountable,
): (req: NodeRequest, res: NodeResponse) => Promise<void> {
  checkReceiver(receiver, "createServer(nodeHandler(receiver))");
  const answer = receiver.mount();
  return async (req, res) => send(req, res, await answer(incomingFromNode(req, req, res)));
}

/**
 * Converts a request of Node. With its response, the receiver warns when something else has answered.
 *
 * @throws TypeError for the arguments of a framework for which the adapter is not
 * @example
 * const answer = receiver.mount();
 * http.createServer(async (req, res) => {
 *   send(req, res, await answer(incomingFromNode(req, req, res)));
 * });
 */
export function incomingFromNode(
  req: NodeRequest,
  parsed: AlreadyParsed,
  res?: Pick<NodeResponse, "headersSent">,
): Incoming {
  // The context of Koa or Hono, and next; or what a request of Express has in the place of a context's.
  if (typeof res === "function" || req === undefined) {
    throw new TypeError(
      "This is the adapter of another framework: mount reporthook(receiver) of @reporthook/express, @reporthook/koa or @reporthook/hono",
    );
  }
  return new NodeIncoming(req, parsed, res);
}

/** Reads nothing from the request before the receiver asks: an error is answered only from then on. */
class NodeIncoming implements Incoming {
  readonly #req: NodeRequest;
  readonly #parsed: AlreadyParsed;
  readonly #res: Pick<NodeResponse, "headersSent"> | undefined;

  constructor(
    req: NodeRequest,
    parsed: AlreadyParsed,
    res: Pick<NodeResponse, "headersSent"> | undefined,
  ) {
    this.#req = req;
    this.#parsed = parsed;
    this.#res = res;
  }

  get method(): string {
    return this.#req.method ?? "";
  }

  get url(): string {
    const url = this.#parsed.originalUrl ?? this.#parsed.url ?? this.#req.url ?? "/";
    // Some proxies pass a request on with its whole address.
    return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*\/?/i, "/");
  }

  get headers(): Incoming["headers"] {
    const { headers } = this.#req;
    return isStream(this.#req) ? headers : plainHeaders(headers ?? {});
  }

  get multiplexed(): boolean {
    return this.#req.httpVersionMajor > 1;
  }

  get connection(): object | undefined {
    return connectionOf(this.#req as IncomingMessage);
  }

  answered(): boolean {
    return this.#res?.headersSent === true;
  }

  readBody(limit: number): BodyReading {
    return readNode(this.#req as IncomingMessage, this.#parsed, limit);
  }
}

/**
 * Sends an answer over a Node response. Never throws: if the response does, its connection is closed.
 *
 * @example
 * const answer = receiver.mount();
 * http.createServer(async (req, res) => {
 *   send(req, res, await answer(incomingFromNode(req, req, res)));
 * });
 */
export function send(req: NodeRequest, response: NodeResponse, answer: Answer): void {
  const res = response as ServerResponse;
  if (res.headersSent || res.destroyed) return;
  // Not spread: in front of another property, V8 would build a new object shape for each answer.
  const headers: OutgoingHttpHeaders = {};
  for (const name of Object.keys(answer.headers)) headers[name] = answer.headers[name];
  headers["Content-Length"] = Buffer.byteLength(answer.body);
  try {
    res.writeHead(answer.status, headers);
    const body = bodyOf(req, answer);
    if (typeof body === "string") res.end(body);
    else body.pipe(res);
  } catch (error) {
    // Thrown by something ahead that has replaced them. The sender sees the connection end, and the server's clientError the error.
    res.destroy(error as Error);
  }
}

/**
 * The answer's body. To close the connection, it is a stream that ends once the sender has stopped sending: an earlier close
 * would reset the connection, and lose the answer. A stream of HTTP/2 is closed after the answer, or it would keep its session.
 *
 * @example
 * const answer = receiver.mount();
 * new Koa().use(async (ctx) => {
 *   const answered = await answer(incomingFromNode(ctx.req, ctx.request, ctx.res));
 *   ctx.status = answered.status;
 *   ctx.set(answered.headers);
 *   ctx.body = bodyOf(ctx.req, answered);
 * });
 */
export function bodyOf(req: NodeRequest, { headers, body }: Answer): string | Readable {
  if (req.complete || req.destroyed || !isStream(req)) return body;
  if (req.httpVersionMajor > 1) closeAfterAnswer(req as Http2ServerRequest);
  if (headers["Connection"] !== "close") return body;
  return Readable.from(lingering(req, body), { objectMode: false });
}

function closeAfterAnswer(req: Http2ServerRequest): void {
  const { stream } = req;
  stream.once("finish", () => {
    req.resume();
    const timer = setTimeout(() => stream.close(noError), lingerMs);
    stream.once("close", () => clearTimeout(timer));
  });
}

async function* lingering(req: NodeRequest, body: string): AsyncGenerator<string> {
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
