import type { Act } from "@reporthook/core";

/** The target of a request. Only the end of the path counts: it may begin with anything. */
export type RouteMatch =
  /** A file of the page. */
  | { readonly file: string }
  /** Relative addresses need the slash at the end. */
  | { readonly moved: string }
  | { readonly metrics: true }
  /** The overview or a list, without an id; or one of a list. */
  | { readonly view: Kind; readonly id: string | null; readonly query: URLSearchParams }
  | { readonly bodyOf: string }
  /** On one delivery by its id, or on all that are parked for a reason; `query` says how they were shown. */
  | { readonly action: Act; readonly id: string | null; readonly query: URLSearchParams }
  /** A report, by the id of its request; `query` has the status. */
  | { readonly action: "settle"; readonly id: string; readonly query: URLSearchParams };

type Kind = "overview" | "deliveries" | "reports";

const file = /\/assets\/([\w.-]+)$/;
const view = /\/api\/(?:(overview|deliveries|reports)|(deliveries|reports)\/([^/]+))$/;
const body = /\/api\/deliveries\/([0-9a-z]{1,64})\/body$/;
const action =
  /\/api\/(?:deliveries\/([0-9a-z]{1,64})\/(retry|release|discard)|(release|discard))$/;
const settle = /\/api\/reports\/([0-9a-z]{1,64})\/settle$/;

/** Reads the address of a request; null if nothing is there. */
export function matchRoute(request: Request): RouteMatch | null {
  const { pathname, search, searchParams: query } = new URL(request.url);
  const [, name] = file.exec(pathname) ?? [];
  if (name !== undefined) return { file: name };
  if (pathname.endsWith("/metrics")) return { metrics: true };
  const [isView, all, kind = all, one] = view.exec(pathname) ?? [];
  const id = one === undefined ? null : textOf(one);
  if (isView !== undefined) return { view: kind as Kind, id, query };
  const [, bodyOf] = body.exec(pathname) ?? [];
  if (bodyOf !== undefined) return { bodyOf };
  const [isAction, of = null, act, actOnAll = act] = action.exec(pathname) ?? [];
  if (isAction !== undefined) return { action: actOnAll as Act, id: of, query };
  const [, report] = settle.exec(pathname) ?? [];
  if (report !== undefined) return { action: "settle", id: report, query };
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
