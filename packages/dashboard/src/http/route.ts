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
const view =
  /\/api\/(?:(?<all>overview|deliveries|reports)|(?<of>deliveries|reports)\/(?<id>[^/]+))$/;
const body = /\/api\/deliveries\/([0-9a-z]{1,64})\/body$/;
const onOne = /\/api\/deliveries\/(?<id>[0-9a-z]{1,64})\/(?<act>release|retry|discard)$/;
const onAll = /\/api\/(?<act>release|discard)$/;
const settle = /\/api\/reports\/([0-9a-z]{1,64})\/settle$/;

/** Reads the address of a request; null if nothing is there. */
export function matchRoute(request: Request): RouteMatch | null {
  const { pathname, search, searchParams: query } = new URL(request.url);
  const [, name] = file.exec(pathname) ?? [];
  if (name !== undefined) return { file: name };
  if (pathname.endsWith("/metrics")) return { metrics: true };
  const { all, of = all, id: one } = view.exec(pathname)?.groups ?? {};
  const id = one === undefined ? null : textOf(one);
  if (of !== undefined) return { view: of as Kind, id, query };
  const [, bodyOf] = body.exec(pathname) ?? [];
  if (bodyOf !== undefined) return { bodyOf };
  const { act, id: to = null } = (onOne.exec(pathname) ?? onAll.exec(pathname))?.groups ?? {};
  if (act !== undefined) return { action: act as Act, id: to, query };
  const [, report] = settle.exec(pathname) ?? [];
  if (report !== undefined) return { action: "settle", id: report, query };
  if (pathname.endsWith("/")) return { file: "index.html" };
  const last = pathname.slice(pathname.lastIndexOf("/") + 1);
  const isPage = ["GET", "HEAD"].includes(request.method) && !last.includes(".");
  return isPage ? { moved: `./${last}/${search}` } : null;
}

/** A malformed id finds no delivery, and the page says so. */
function textOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
