/** The members used of a server of Node, HTTP/1 or 2. */
export interface NodeServer {
  readonly listening: boolean;
  listenerCount(event: string): number;
  prependListener(event: "request", listener: (req: NodeRequest, res: NodeAnswer) => void): unknown;
  prependListener(event: "stream", listener: (stream: NodeStream) => void): unknown;
}

/** The members used of a request of Node. */
interface NodeRequest {
  readonly httpVersionMajor: number;
  readonly socket?: object;
  readonly stream?: NodeStream;
}

interface NodeStream {
  readonly session?: NodeConnection | undefined;
}

interface NodeAnswer {
  readonly headersSent: boolean;
  shouldKeepAlive: boolean;
}

/** A socket of HTTP/1, or a session of HTTP/2. */
export interface NodeConnection {
  readonly server?: NodeServer | undefined;
  readonly destroyed: boolean;
  getMaxListeners(): number;
  setMaxListeners(max: number): unknown;
  once(event: "close", listener: () => void): unknown;
  /** A session answers what has come, and the sender knows that the rest was not taken. */
  close?(): void;
  destroy(): void;
  /** Of a session: all of its socket that may be used. */
  readonly socket?: { destroySoon?(): void };
}

/** The last request of each connection, to any receiver or route: Node sends no answer after one that ends the connection. */
export const latest: WeakMap<object, object> = new WeakMap();

/** The connection of a request of Node: its socket, or the session that it shares. */
export function connectionOf({
  httpVersionMajor,
  socket,
  stream,
}: NodeRequest): object | undefined {
  return httpVersionMajor > 1 ? stream?.session : socket;
}

const ending = new WeakSet<object>();

/** Has the answers of all routes of a server end their connections as soon as it listens no longer. */
export function endConnections(server: NodeServer): void {
  if (ending.has(server)) return;
  ending.add(server);
  const answers = new WeakMap<object, NodeAnswer>();
  // Where nothing asks for requests, a listener would have HTTP/2 make them.
  if (server.listenerCount("request") > 0) {
    server.prependListener("request", ({ httpVersionMajor, socket }, res) => {
      if (httpVersionMajor > 1 || socket === undefined) return;
      latest.set(socket, res);
      if (server.listening) return;
      const earlier = answers.get(socket);
      if (earlier?.headersSent === false) earlier.shouldKeepAlive = true;
      answers.set(socket, res);
      res.shouldKeepAlive = false;
    });
  }
  server.prependListener("stream", ({ session }) => {
    if (!server.listening) session?.close?.();
  });
}
