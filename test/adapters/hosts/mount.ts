import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type Http2Server } from "node:http2";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { shutdown } from "@reporthook/core/node";
import { listenLocally } from "@reporthook/test-support/listening";
import type { MountedReceiver, MountHost, RawConnection, Served } from "@reporthook/testing";

/** Serves a Node listener on a free port; `close` ends its connections too. */
export function listen(listener: RequestListener, path = "/"): Promise<Served> {
  return served(createServer(listener), path);
}

/** The same for a server that is made already. */
export async function served(server: Server, path = "/"): Promise<Served> {
  // On a busy machine a connection must not end while it is chosen for the next request.
  server.keepAliveTimeout = 60_000;
  const url = `${await listenLocally(server)}${path}`;
  return {
    url,
    shutdown: (receiver) => shutdown(server, receiver),
    async close() {
      // A second end is no event on Bun.
      const closed = server.listening ? once(server, "close") : null;
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const pieceLength = 20_000;

/** Sends text over a new connection; resolves to the answer once the server has closed it. */
export async function raw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    answer += chunk;
  });
  // A connection that is reset after the answer has shown the answer all the same.
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  // Piece by piece: bytes that a server has not read when it closes reset the connection, and its answer may be lost.
  for (let at = 0; at < request.length && answer === "" && !socket.destroyed; at += pieceLength) {
    socket.write(request.slice(at, at + pieceLength));
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return answer;
}

/** Opens a connection. */
async function connectTo(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  const ended = once(socket, "close").then(() => text);
  await once(socket, "connect");
  return {
    ended,
    send: (piece) => void socket.write(piece),
    async until(end) {
      while (!text.endsWith(end)) await once(socket, "data");
    },
  };
}

/** A host of {@link mountContract} over real sockets. */
export function socketHost(
  methods: MountHost["methods"],
  serve: (receiver: MountedReceiver, consumed: boolean) => Promise<Served>,
  skip: Readonly<Record<string, string>> = {},
): MountHost {
  return {
    methods,
    raw,
    connect: connectTo,
    skip,
    serve: (receiver, { consumed }) => serve(receiver, consumed),
  };
}

/** The same over HTTP/2 without TLS. */
export function http2Host(
  methods: MountHost["methods"],
  path: string,
  serve: (receiver: MountedReceiver, consumed: boolean) => Http2Server,
): MountHost {
  return {
    methods,
    multiplexed: true,
    async serve(receiver, { consumed }) {
      const server = serve(receiver, consumed);
      const url = `${await listenLocally(server)}${path}`;
      const session = connectHttp2(url);
      return {
        url,
        shutdown: (receiver) => shutdown(server, receiver),
        fetch: (request) => fetchHttp2(session, request),
        async close() {
          session.destroy();
          server.close();
          await once(server, "close");
        },
      };
    },
  };
}

async function fetchHttp2(session: ClientHttp2Session, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const pseudo = { ":method": request.method, ":path": pathname + search };
  const stream = session.request({ ...pseudo, ...Object.fromEntries(request.headers) });
  // Closed, Node's client would first say that the body is whole.
  const cutOff = (error: Error): void => void stream.destroy(error);
  if (request.body === null) stream.end();
  else
    Readable.fromWeb(request.body as import("node:stream/web").ReadableStream)
      .on("error", cutOff)
      .pipe(stream);
  const [{ ":status": status, ...headers }] = await Promise.race([
    once(stream, "response"),
    once(stream, "close").then(() => Promise.reject(new Error("closed without an answer"))),
  ]);
  const body = await buffer(stream);
  stream.close();
  // Without symbols, which Node puts there.
  return new Response(body, { status, headers: Object.entries<string>(headers) });
}
