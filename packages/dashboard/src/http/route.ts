import type { Act } from "@reporthook/core";

/** The target of a request. Only the end of the path counts: it may begin with anything. */
export type RouteMatch =
  /** A file of the page. */
  | { readonly file: string }
  /** Relative addresses need the slash at the end. */
  | { readonly moved: string }
  | { readonly metrics: true }
  | { readonly overview: true }
  | { readonly listOf: Kind; readonly query: URLSearchParams }
  | { readonly oneOf: Kind; readonly id: string }
  | { readonly bodyOf: string }
  /** On one delivery by its id, or on all that are parked for a reason; `query` says how they were shown. */
  | { readonly action: Act; readonly id: string | null; readonly query: URLSearchParams }
  /** A report, by the id of its request; `query` has the status. */
  | { readonly action: "settle"; readonly id: string; readonly query: URLSearchParams };

type Kind = "deliveries" | "reports";

const list = /\/api\/(deliveries|reports)$/;
const one = /\/api\/(deliveries|reports)\/([^/]+)$/;
const body = /\/api\/deliveries\/([0-9a-z]{1,64})\/body$/;
const action = /\/api\/deliveries\/([0-9a-z]{1,64})\/(release|retry|discard)$/;
const settle = /\/api\/reports\/([0-9a-z]{1,64})\/settle$/;
const ofReason = /\/api\/(release|discard)$/;

/** Reads the address of a request; null if nothing is there. */
export function matchRoute(request: Request): RouteMatch | null {
  const { pathname, search, searchParams: query } = new URL(request.url);
  const file = /\/assets\/([\w.-]+)$/.exec(pathname)?.[1];
  if (file !== undefined) return { file };
  if (pathname.endsWith("/metrics")) return { metrics: true };
  if (pathname.endsWith("/api/overview")) return { overview: true };
  const listOf = list.exec(pathname)?.[1];
  if (listOf !== undefined) return { listOf: listOf as Kind, query };
  const [, oneOf, of] = one.exec(pathname) ?? [];
  if (of !== undefined) return { oneOf: oneOf as Kind, id: textOf(of) };
  const bodyOf = body.exec(pathname)?.[1];
  if (bodyOf !== undefined) return { bodyOf };
  const [, to, what] = action.exec(pathname) ?? [];
  if (to !== undefined) return { action: what as Act, id: to, query };
  const report = settle.exec(pathname)?.[1];
  if (report !== undefined) return { action: "settle", id: report, query };
  const all = ofReason.exec(pathname)?.[1];
  if (all !== undefined) return { action: all as Act, id: null, query };
  if (pathname.endsWith("/")) return { file: "index.html" };
  const last = pathname.slice(pathname.lastIndexOf("/") + 1);
  return last.includes(".") ? null : { moved: `./${last}/${search}` };
}

/** A malformed id finds no delivery, and the page says so. */
function textOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
