import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { Dashboard } from "./dashboard.ts";

/** The used members of a Koa context. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly originalUrl: string;
  respond?: boolean;
}

/**
 * Adapts a dashboard to `http.createServer` and Express.
 *
 * @throws TypeError if the argument is not a dashboard
 * @example
 * const app = express();
 * app.use("/inbox", onNode(dashboard(receiver)));
 */
export function onNode(
  page: Dashboard,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  checkPage(page, "app.use(path, onNode(dashboard(receiver)))");
  return (req, res) => {
    const { originalUrl } = req as IncomingMessage & { originalUrl?: string };
    return serve(page, req, res, originalUrl ?? req.url ?? "/");
  };
}

/**
 * Adapts a dashboard to Koa.
 *
 * @throws TypeError if the argument is not a dashboard
 * @example
 * const app = new Koa();
 * app.use(mount("/inbox", onKoa(dashboard(receiver))));
 */
export function onKoa(page: Dashboard): (ctx: KoaContext) => Promise<void> {
  checkPage(page, "app.use(mount(path, onKoa(dashboard(receiver))))");
  return (ctx) => {
    ctx.respond = false;
    return serve(page, ctx.req, ctx.res, ctx.originalUrl);
  };
}

function checkPage(page: unknown, line: string): void {
  if (typeof page !== "function") {
    throw new TypeError(`The argument is not a dashboard. Write: ${line}`);
  }
}

async function serve(
  page: Dashboard,
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
): Promise<void> {
  const gone = new AbortController();
  res.once("close", () => gone.abort());
  const request = requestOf(req, path, gone.signal);
  if (request === null) {
    res.writeHead(400).end();
    return;
  }
  const response = await page(request, { incoming: req });
  if (res.headersSent || res.destroyed) {
    // Already answered, or the client disconnected.
    await response.body?.cancel();
    return;
  }
  // HTTP/2 has no such header, and Node would warn.
  if (req.httpVersionMajor > 1) response.headers.delete("connection");
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    res.end();
    return;
  }
  // Sends the headers of a live answer before the first event.
  res.flushHeaders();
  // Closing the page aborts its answer.
  await pipeline(Readable.fromWeb(response.body as ReadableStream), res).catch(() => {});
}

/** Null for an invalid address. It drops bodies, because no request of the dashboard has one. */
function requestOf(req: IncomingMessage, path: string, signal: AbortSignal): Request | null {
  const headers = new Headers();
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] ?? "";
    if (!name.startsWith(":")) headers.append(name, req.rawHeaders[at + 1] ?? "");
  }
  try {
    const host = headers.get("host") ?? req.headers[":authority"] ?? "unknown.invalid";
    const url = new URL(`http://${host}`);
    const [pathname = "", search = ""] = path.split(/\?(.*)/s);
    url.pathname = pathname;
    url.search = search;
    return new Request(url, { method: req.method ?? "GET", headers, signal });
  } catch {
    return null;
  }
}
