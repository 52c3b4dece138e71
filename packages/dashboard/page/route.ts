/** The query of the page's address: `delivery` or `request` names one, else `show` a list, and the rest its filters. */
export type PageQuery = Readonly<Record<string, string>>;

/** The address of a screen, relative to the dashboard. */
export function at(query: PageQuery): string {
  return `?${new URLSearchParams(query)}`;
}

/** The address of the list of deliveries with these filters. */
export function listAt(filters: PageQuery): string {
  return at({ show: "deliveries", ...filters });
}

/** Goes to an address, as a link would; it may replace the one before. */
export function go(address: string, replace = false): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
  if (!replace) scrollTo(0, 0);
}

/** Follows a link to another screen without loading the page again. */
export function followLink(event: MouseEvent): void {
  const address = (event.target as Element).closest("a")?.getAttribute("href") ?? "";
  if (!/^(\?|\.\/)/.test(address)) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(address);
}
