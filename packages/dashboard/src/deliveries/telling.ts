import type { RequestCounts } from "@reporthook/core";
import { throttle, type View } from "./shared-views.ts";
import { ifKept, type Source } from "./source.ts";
import type { Person } from "./wire.ts";

/** Creates a function that adds to the data of a view those that every view has, and makes a text of them, until all is over. */
export function createTell(
  { name: receiver = "reports", reports: asked }: Source,
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
