import { useEffect, useState } from "preact/hooks";

const names = [
  "state",
  "event",
  "reason",
  "error",
  "report",
  "request",
  "id",
  "from",
  "until",
] as const;

/** The filters of the list, named as in the address. */
export type Filters = { readonly [Name in (typeof names)[number]]?: string };

/** Which of the screens. */
export type Route =
  | { readonly screen: "overview" }
  | { readonly screen: "deliveries"; readonly filters: Filters }
  | { readonly screen: "delivery"; readonly id: string }
  /** The reports beyond an id, if there is one. */
  | { readonly screen: "reports"; readonly of: string; readonly after?: string }
  /** By the id of its request. */
  | { readonly screen: "report"; readonly id: string };

/** The address of a screen, relative to the dashboard. */
export function addressOf(route: Route): string {
  if (route.screen === "overview") return "./";
  if (route.screen === "delivery") return `?${new URLSearchParams({ delivery: route.id })}`;
  if (route.screen === "report") return `?${new URLSearchParams({ request: route.id })}`;
  const { screen: show, ...rest } = route;
  const given = "filters" in rest ? rest.filters : rest;
  return `?${new URLSearchParams({ show, ...given })}`;
}

function routeOf(search: string): Route {
  const query: Readonly<Partial<Record<string, string>>> = Object.fromEntries(
    new URLSearchParams(search),
  );
  const { show, delivery, request, of = "open", after } = query;
  if (delivery !== undefined) return { screen: "delivery", id: delivery };
  if (show === "reports") return { screen: "reports", of, ...(after !== undefined && { after }) };
  if (show === undefined && request !== undefined) return { screen: "report", id: request };
  if (show !== "deliveries") return { screen: "overview" };
  const given = names.flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  return { screen: "deliveries", filters: Object.fromEntries(given) };
}

/** Goes to a screen, as a link would. */
export function go(route: Route, { replace = false }: { readonly replace?: boolean } = {}): void {
  const address = addressOf(route);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
  if (!replace) scrollTo(0, 0);
}

/** The screen that the address names. */
export function useRoute(): Route {
  const [search, setSearch] = useState(location.search);
  useEffect(() => {
    const change = (): void => setSearch(location.search);
    addEventListener("popstate", change);
    return () => removeEventListener("popstate", change);
  }, []);
  return routeOf(search);
}
