import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { incomingFromNode, send } from "@reporthook/core/node";
import { isLoopback } from "@reporthook/core/store";
import { tokenOf, withQuery } from "../lib/callback.ts";
import type { Exchange } from "../lib/exchange.ts";
import type { AppRequest } from "./history.ts";

/** Answers one request of a Node server. */
export type Handle = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

const maxBytes = 1_048_576;
const passedOnBy = "x-reporthook-passed-on-by";
// Hop-by-hop headers: they belong to one connection.
const ofTheConnection =
  /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

/** Serves requests with bodies up to 1 MiB; an answer that throws breaks the connection. */
export function serve(answer: (request: AppRequest) => Promise<Response>): Handle {
  return async (req, res) => {
    try {
      const read = await incomingFromNode(req, req).readBody(maxBytes).result;
      if (typeof read === "string") {
        const body = JSON.stringify({ errors: [`The body has more than ${maxBytes} bytes`] });
        const headers = { Connection: "close", "content-type": "application/json" };
        return send(req, res, { status: 413, headers, body });
      }
      const { method = "GET" } = req;
      const kept = Object.entries(req.headers).filter(([name]) => !ofTheConnection.test(name));
      const headers = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
      const bodyless = method === "GET" || method === "HEAD";
      const url = `http://localhost${req.url}`;
      const body = bodyless ? {} : { body: Buffer.from(read) };
      await respond(res, await answer({ url, method, headers, ...body }));
    } catch {
      req.socket.destroy();
    }
  };
}

/** Passes each request on to an app, signed unless it is, and returns its answer. A request that it sent itself is answered 508. */
export function passTo(
  url: string,
  token: string,
  deliver: (request: AppRequest) => Promise<Exchange>,
): Handle {
  const own = randomUUID();
  return serve(async (request) => {
    if (request.headers[passedOnBy] === own) {
      return errors(508, `--forward ${url} leads back here: use your app's URL`);
    }
    const { search } = new URL(request.url);
    const to = withQuery(url, search.slice(1), tokenOf(request.url) === "" ? token : "");
    const headers = { ...request.headers, [passedOnBy]: own };
    const answer = await deliver({ ...request, url: to, headers });
    return answer.error === "" ? passedOn(answer) : errors(502, `${url}: ${answer.error}`);
  });
}

/** The answer of an app, to be passed on. */
export function passedOn({ status, headers, body }: Exchange): Response {
  const type = headers.get("content-type") ?? "text/plain";
  const content = [204, 205, 304].includes(Number(status)) ? null : body;
  return new Response(content, { status: Number(status), headers: { "content-type": type } });
}

/**
 * The refusal of a request that a page in the developer's browser may have sent; null if none has. A page names its origin or
 * its site: 403. If only this machine can reach `host`, another name in the request was rebound to it: 421, because a 403 would be
 * taken for a refused API key.
 */
export function refusalOfPage({ headers }: IncomingMessage, host: string): Response | null {
  const { origin, "sec-fetch-site": site = "none", host: name = "" } = headers;
  if (origin !== undefined || (site !== "none" && site !== "same-origin")) {
    return errors(403, "The playground takes nothing from web pages: send it from a program");
  }
  const asked = URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : name;
  if (!isLoopback(host) || isLoopback(asked)) return null;
  return errors(
    421,
    `The playground listens at ${host} only, not at ${name}: use that address, or --host 0.0.0.0`,
  );
}

/** An error in the service's form. */
function errors(status: number, error: string): Response {
  return Response.json({ errors: [error] }, { status });
}

/** Sends an answer. */
export async function respond(res: ServerResponse, response: Response): Promise<void> {
  const bytes = Buffer.from(await response.arrayBuffer());
  res.writeHead(response.status, Object.fromEntries(response.headers)).end(bytes);
}
