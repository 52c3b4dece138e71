import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Delivery } from "@reporthook/emulator";
import { type Exchange, exchange, isDelivered } from "../lib/exchange.ts";
import type { Asks } from "./asks.ts";

/** Answers one request of a Node server. */
export type Handle = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** A notification sent to an app, with the result. */
export interface ForwardedNotification extends Pick<Delivery, "url" | "status" | "durationMs"> {
  readonly name: string;
  readonly error?: string;
  /** The id of the delivery in the app's inbox, if the answer has one. */
  readonly id?: string;
}

/** The header of the signature. */
export const signatureHeader = "x-svc-authorization";

const maxBytes = 1_048_576;
const passedOnBy = "x-reporthook-passed-on-by";
// Hop-by-hop headers: they belong to one connection.
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

/** Serves a fetch handler, bodies up to 1 MiB; a handler that throws breaks the connection. */
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
    } catch (error) {
      breakOff(req, res, error);
    }
  };
}

/** Forwards each notification to an app, returns its answer, and reports both. A request that it sent itself is answered 508. */
export function forwardTo(
  url: string,
  asks: Asks,
  tell: (sent: ForwardedNotification) => void,
): Handle {
  const own = randomUUID();
  return async (req, res) => {
    try {
      if (req.headers[passedOnBy] === own) {
        const text = JSON.stringify({
          errors: [`--forward ${url} leads back here: use your app's URL`],
        });
        res.writeHead(508, { "content-type": "application/json" }).end(text);
        return;
      }
      const body = await bytesOf(req);
      const method = req.method ?? "POST";
      const withBody = method === "GET" || method === "HEAD" ? {} : { body };
      const headers: Record<string, string> = { ...headersOf(req), [passedOnBy]: own };
      const signature = headers[signatureHeader] ?? null;
      const name = nameIn(Buffer.from(body).toString());
      asks.sent(signature, name);
      const answer = await exchange(url, { method, headers, ...withBody });
      const id = answer.status === null ? null : idIn(answer.body);
      tell(sentOf(url, name, answer, id));
      asks.answered(signature, isDelivered(answer), id);
      if (answer.status === null) {
        const text = JSON.stringify({ errors: [`${url}: ${answer.error}`] });
        res.writeHead(502, { "content-type": "application/json" }).end(text);
      } else {
        const type = answer.headers.get("content-type") ?? "text/plain";
        res.writeHead(answer.status, { "content-type": type }).end(answer.body);
      }
    } catch (error) {
      breakOff(req, res, error);
    }
  };
}

function breakOff(req: IncomingMessage, res: ServerResponse, error: unknown): void {
  if (!(error instanceof TooLarge)) return void req.socket.destroy();
  const text = JSON.stringify({ errors: [error.message] });
  res.writeHead(413, { "content-type": "application/json", connection: "close" }).end(text);
}

class TooLarge extends Error {}

function sentOf(
  url: string,
  name: string,
  answer: Exchange,
  id: string | null,
): ForwardedNotification {
  const { status, ms: durationMs } = answer;
  const error = status === null && { error: answer.error };
  return { url, name, status, durationMs, ...error, ...(id !== null && { id }) };
}

/** The probable event name of a notification, for display only. */
export function nameIn(body: string): string {
  try {
    const { event_type: type, payload } = JSON.parse(body);
    const { status } = payload ?? {};
    return typeof status === "string" ? `report.${status}` : String(type);
  } catch {
    return "unknown";
  }
}

/** The id in the answer of a receiver. */
export function idIn(body: string): string | null {
  try {
    const { id } = JSON.parse(body);
    return typeof id === "string" && /^[0-9a-z]{26}$/.test(id) ? id : null;
  } catch {
    return null;
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
    // Reads the rest: if it closed earlier, the sender could not read the answer.
    if (size <= maxBytes) chunks.push(chunk);
  }
  if (size > maxBytes) throw new TooLarge(`The body has more than ${maxBytes} bytes`);
  return Buffer.concat(chunks);
}
