import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Mountable, MountHost, Served } from "@reporthook/core/testing";

/** Serves a Node listener on a free port; `close` ends its connections too. */
export function listen(listener: RequestListener, path = "/"): Promise<Served> {
  return served(createServer(listener), path);
}

/** The same for a server that is made already. */
export async function served(server: Server, path = "/"): Promise<Served> {
  // On a busy machine a connection must not end while it is chosen for the next request.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
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
  // Piece by piece: what a server has not read when it closes resets the connection, and its answer may be lost.
  for (let at = 0; at < request.length && answer === "" && !socket.destroyed; at += pieceLength) {
    socket.write(request.slice(at, at + pieceLength));
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return answer;
}

/** A host of {@link mountContract} over real sockets. */
export function socketHost(
  methods: MountHost["methods"],
  serve: (receiver: Mountable, consumed: boolean) => Promise<Served>,
  skip: Readonly<Record<string, string>> = {},
): MountHost {
  return { methods, raw, skip, serve: (receiver, { consumed }) => serve(receiver, consumed) };
}
