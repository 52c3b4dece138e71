import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { bodyText, Refused } from "./answer.ts";
import { bodyTooLarge, CALL_BYTES } from "./call.ts";
import type { EmulatedService } from "./service.ts";

/** The server of an emulator, which listens once. */
export class EmulatorServer {
  readonly #answer: EmulatedService["answer"];
  #server: Promise<Server> | undefined;
  #isClosed = false;

  constructor(answer: EmulatedService["answer"]) {
    this.#answer = answer;
  }

  /**
   * Resolves to its URL. Rejects with a TypeError for an invalid port or an empty host, with the system's error if it is
   * unavailable.
   */
  async listen(port: number, host: string): Promise<string> {
    if (this.#isClosed) {
      throw new Error("The emulator is closed: create another one to listen again.");
    }
    if (this.#server !== undefined) {
      throw new Error("The emulator is already listening: close() it and create another one.");
    }
    const address = addressOf(port, host);
    this.#server = started(this.#answer, port, address);
    try {
      return urlOf(await this.#server, address);
    } catch (error) {
      this.#server = undefined;
      throw error;
    }
  }

  /** Also breaks open connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // A server that failed to start has nothing to close; listen() rejected.
    const server = await this.#server?.catch(() => undefined);
    if (server === undefined) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

/** The address to listen at. */
function addressOf(port: number, host: string): string {
  // Node would use another value as the name of a Unix socket.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError(`listen: port must be a whole number from 0 to 65535, not ${String(port)}`);
  }
  const address = typeof host === "string" ? host.replace(/^\[(.*)\]$/, "$1") : "";
  // Node would listen at every address of this machine.
  if (address === "") {
    throw new TypeError("listen: host must name an address of this machine, like 127.0.0.1");
  }
  return address;
}

async function started(
  answer: EmulatedService["answer"],
  port: number,
  address: string,
): Promise<Server> {
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => void respond(request, response, answer));
  await once(server.listen(port, address), "listening");
  return server;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: EmulatedService["answer"],
): Promise<void> {
  const hangUp = new AbortController();
  response.once("close", () => hangUp.abort());
  try {
    const reply = isOfPage(request)
      ? ofPage
      : await answer({
          method: request.method ?? "",
          // The host is ignored, because a client may send any. An invalid path matches no operation.
          url: URL.canParse(`http://localhost${request.url}`)
            ? new URL(`http://localhost${request.url}`)
            : new URL("http://localhost"),
          header: (name) => request.headers[name.toLowerCase()]?.toString() ?? null,
          readBody: () => readBody(request),
          signal: hangUp.signal,
        });
    const body = bodyText(reply);
    const headers = body === null ? {} : { "content-length": Buffer.byteLength(body) };
    response
      .writeHead(reply.status, { "content-type": "application/json", ...headers, ...reply.headers })
      .end(body);
  } catch {
    // Dropped by a fault, or the client disconnected: no answer is possible.
    request.socket.destroy();
  }
}

const ofPage = new Refused(403, ["The emulator takes nothing from web pages."]).answer;

/** Whether a page in the developer's browser sent it, which could have the service call any address; a browser names its origin. */
function isOfPage({ headers }: IncomingMessage): boolean {
  const { origin, "sec-fetch-site": site = "none" } = headers;
  return origin !== undefined || (site !== "none" && site !== "same-origin");
}

/** Reads to the end even if the body is too large: a client that still writes would miss the answer. */
async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size <= CALL_BYTES) chunks.push(chunk);
  }
  if (size > CALL_BYTES) throw bodyTooLarge();
  return Buffer.concat(chunks);
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
