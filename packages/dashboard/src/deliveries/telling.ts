import type { RequestCounts } from "@reporthook/core";
import { throttle, type View } from "./shared-views.ts";
import { ifKept, type Source } from "./source.ts";
import type { Person } from "./wire.ts";

/** Creates a function that adds to the data of a view those that every view has, and makes a text of them. */
export function createTell({
  name: receiver = "reports",
  reports: asked,
}: Source): (read: () => Promise<object>) => View {
  const countsNow = throttle(() => ifKept<RequestCounts | null>(asked?.counts(), null));
  return (read) => async () => {
    const own: { readonly reports?: null } = await read();
    const { reports = await countsNow() } = own;
    return JSON.stringify({ receiver, ...own, reports });
  };
}

/** Adds the viewer to the data. */
export function withViewer(viewer: Person, seen: string): string {
  return `{"viewer":${JSON.stringify(viewer)},${seen.slice(1)}`;
}
