import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Delivery } from "@reporthook/emulator";
import { type Exchange, exchange } from "./exchange.ts";

/** Answers one request of a Node server. */
export type Handle = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** A notification that went to an app, and what came of it. */
export interface Sent extends Pick<Delivery, "url" | "status" | "durationMs"> {
  readonly name: string;
  readonly error?: string;
}

const mostBytes = 1_048_576;
// They belong to one connection, and are made anew for the next.
const ofTheConnection = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Serves what speaks fetch; a fetch that fails breaks the connection. */
export function serveFetch(fetch: typeof globalThis.fetch): Handle {
  return async (req, res) => {
    try {
      const bodyless = req.method === "GET" || req.method === "HEAD";
      const response = await fetch(`http://localhost${req.url}`, {
        method: req.method ?? "GET",
        headers: headersOf(req),
        body: bodyless ? null : await bytesOf(req),
      });
      const body = Buffer.from(await response.arrayBuffer());
      res.writeHead(response.status, Object.fromEntries(response.headers)).end(body);
    } catch {
      req.socket.destroy();
    }
  };
}

/** Passes each notification on to an app, and its answer back; tells of each. */
export function forwardTo(url: string, tell: (sent: Sent) => void): Handle {
  return async (req, res) => {
    try {
      const body = await bytesOf(req);
      const method = req.method ?? "POST";
      const withBody = method === "GET" || method === "HEAD" ? {} : { body };
      const answer = await exchange(url, { method, headers: headersOf(req), ...withBody });
      tell(sentOf(url, nameIn(body), answer));
      if (answer.status === null) {
        const text = JSON.stringify({ errors: [`${url}: ${answer.error}`] });
        res.writeHead(502, { "content-type": "application/json" }).end(text);
      } else {
        const type = answer.headers.get("content-type") ?? "text/plain";
        res.writeHead(answer.status, { "content-type": type }).end(answer.body);
      }
    } catch {
      req.socket.destroy();
    }
  };
}

function sentOf(url: string, name: string, answer: Exchange): Sent {
  const { status, ms: durationMs } = answer;
  return { url, name, status, durationMs, ...(status === null && { error: answer.error }) };
}

/** What a notification seems to be: for a person to read, no more. */
function nameIn(body: Uint8Array): string {
  try {
    const { event_type: type, payload } = JSON.parse(Buffer.from(body).toString());
    const { status } = payload ?? {};
    return typeof status === "string" ? `report.${status}` : String(type);
  } catch {
    return "unknown";
  }
}

function headersOf(req: IncomingMessage): Record<string, string> {
  const kept = Object.entries(req.headers).filter(([name]) => !ofTheConnection.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

async function bytesOf(req: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > mostBytes) throw new Error(`The body is over ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
