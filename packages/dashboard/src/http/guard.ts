import { isLoopback } from "@reporthook/core/store";

/**
 * Whether both ends are this machine: the peer by its address, and the host by its name, which a rebound name is not. The
 * context is `{ peer: address }`, or what @hono/node-server passes as `c.env`.
 */
export function isLocal(request: Request, context: unknown): boolean {
  if ([...request.headers.keys()].some((name) => forwarded.test(name))) return false;
  // By default nginx marks a request by no header, and names its upstream, this machine, as the host: but it speaks HTTP/1.0.
  if (incomingOf(context)?.httpVersion === "1.0") return false;
  const address = addressOf(context)?.replace(/^::ffff:/, "") ?? "";
  return isLoopback(address) && isLoopback(hostOf(request).replace(/:\d{1,5}$/, ""));
}

/** Whether the dashboard's page sent the request: another site's page may send it with the user's cookies. */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (site !== null) return site === "same-origin";
  // Browsers leave the first out where they trust no connection, but name the origin of every POST.
  if (origin !== null) return sameHost(origin, hostOf(request));
  return request.method !== "POST";
}

// A client behind a proxy on this machine is not on this machine.
const forwarded =
  /^(forwarded|via|x-(forwarded|original|real|client|cluster|envoy|amzn?|azure|arr|appengine)-.+|(true|fastly)-client-ip|(cf|fly)-.+|cdn-loop)$/;

/** The used members of a request of Node. */
interface Incoming {
  readonly httpVersion?: unknown;
  readonly socket?: { readonly remoteAddress?: unknown };
}

function incomingOf(context: unknown): Incoming | undefined {
  return (context as { readonly incoming?: Incoming } | null | undefined)?.incoming ?? undefined;
}

function addressOf(context: unknown): string | undefined {
  if (typeof context !== "object" || context === null) return undefined;
  const { peer } = context as { peer?: unknown };
  const address = peer ?? incomingOf(context)?.socket?.remoteAddress;
  return typeof address === "string" ? address : undefined;
}

function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}

function sameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === new URL(`${new URL(origin).protocol}//${host}`).host;
  } catch {
    return false;
  }
}
