import type { RequestCounts } from "@reporthook/core";
import { throttle, type View } from "./shared-views.ts";
import { ifKept, type ShownSource } from "./source.ts";
import type { Person } from "./wire.ts";

/** Creates a function that makes a view: its data and those that every view has, as text, until all is over. */
export function createViewOf(
  { name: receiver, reports: asked }: ShownSource,
  isOver: () => Promise<boolean>,
): (read: () => Promise<object>) => View {
  const countsNow = throttle(() => ifKept<RequestCounts | null>(asked?.counts(), null));
  return (read) => async () => {
    // A query would open a closed inbox again.
    if (await isOver()) throw new Error("The receiver is closing");
    const own: { readonly reports?: null } = await read();
    const { reports = await countsNow() } = own;
    return JSON.stringify({ receiver, ...own, reports });
  };
}

/** Adds the viewer to the data. */
export function withViewer(viewer: Person, seen: string): string {
  return `{"viewer":${JSON.stringify(viewer)},${seen.slice(1)}`;
}
