import { Buffer } from "node:buffer";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { untraced } from "../lib/untraced.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

interface FetchApp {
  fetch(request: Request): Response | Promise<Response>;
}

/** An app that gets the notifications: Express or another `(req, res)` listener, Koa, Hono. */
export type AppUnderTest = Listener | { callback(): Listener } | FetchApp;

/** The request that an app gets. */
export interface RequestToApp {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

const wrongApp =
  "deliverTo takes an Express app or another (req, res) listener, a Koa app, or a Hono app: give the app, not its fetch";

/** Posts requests to an app through a socket, for any host in their URL; keeps no process alive. */
export class AppServer {
  #listener: Listener;
  #listening: Promise<Server> | undefined;

  /** @throws TypeError if `app` is none. */
  constructor(app: AppUnderTest) {
    this.#listener = listenerOf(app);
  }

  /** Resolves to the app's answer. The first request after the beginning or an end listens. */
  async post({
    url,
    headers,
    body,
    signal,
  }: RequestToApp): Promise<Pick<Response, "status" | "body">> {
    const { host, pathname, search } = new URL(url);
    const { request } = await import("node:http");
    this.#listening ??= serve((incoming, response) => this.#listener(incoming, response));
    const { port } = (await this.#listening).address() as AddressInfo;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const length = Buffer.byteLength(body);
      const sent = { ...headers, host, "x-forwarded-proto": "https", "content-length": length };
      const to = { host: "127.0.0.1", port, path: pathname + search, agent: false as const };
      // Not fetch, which sets its own Host.
      untraced(() => request({ ...to, method: "POST", headers: sent, signal }, resolve))
        .on("error", reject)
        .end(body);
    });
    const status = answer.statusCode ?? 0;
    return { status, body: Readable.toWeb(answer) as ReadableStream<Uint8Array> };
  }

  /** Gives later requests to another app; throws as the constructor. */
  replace(app: AppUnderTest): void {
    this.#listener = listenerOf(app);
  }

  /** Breaks all connections. */
  end(): void {
    void this.#listening?.then(close, () => {});
    this.#listening = undefined;
  }
}

function listenerOf(app: AppUnderTest): Listener {
  if (typeof app === "function" && !/^(bound )?fetch$/.test(app.name)) return app;
  const { callback, fetch } = Object(typeof app === "object" ? app : null);
  if (typeof callback === "function") return callback.call(app);
  if (typeof fetch === "function") return fetchListener(app as FetchApp);
  throw new TypeError(wrongApp);
}

function fetchListener(app: FetchApp): Listener {
  return async (incoming, response) => {
    const { method = "POST", headers, url } = incoming;
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const init = {
      method,
      headers: headers as Record<string, string>,
      body: Buffer.concat(chunks),
    };
    const answer = await app.fetch(new Request(`https://${headers.host}${url}`, init));
    const body = new Uint8Array(await answer.arrayBuffer());
    response.writeHead(answer.status).end(body);
  };
}

async function serve(listener: Listener): Promise<Server> {
  const { createServer } = await import("node:http");
  const server = createServer(async (request, response) => {
    try {
      const returned = await listener(request, response);
      if (returned instanceof Response) throw new TypeError(wrongApp);
    } catch (error) {
      // It has answered: like in production, only the process can tell.
      if (response.headersSent) throw error;
      response.writeHead(500).end(`The app threw ${error}`);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve).unref();
  });
  return server;
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}
