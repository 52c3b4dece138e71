import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import type { Mountable, MountHost, Served } from "@reporthook/core/testing";

/** Serves a Node listener on a free port; `close` ends its connections too. */
export function listen(listener: RequestListener, path = "/"): Promise<Served> {
  return served(createServer(listener), path);
}

/** The same for a server that is made already. */
export async function served(server: Server, path = "/"): Promise<Served> {
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

/** Sends text over a new connection; resolves to the answer once the server has closed it. */
export async function raw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(request);
  try {
    return await text(socket);
  } finally {
    socket.destroy();
  }
}

/** A host of {@link mountContract} over real sockets. */
export function socketHost(
  methods: MountHost["methods"],
  serve: (receiver: Mountable, consumed: boolean) => Promise<Served>,
  skip: Readonly<Record<string, string>> = {},
): MountHost {
  return { methods, raw, skip, serve: (receiver, { consumed }) => serve(receiver, consumed) };
}
