import type { RequestCounts } from "@reporthook/core";
import { throttle } from "./shared-views.ts";
import { ifKept, type Source } from "./source.ts";
import type { Person } from "./wire.ts";

/** Makes the text of a view: its own data, after those that every view has. */
export type TellView = (view: object, isInboxUp?: boolean) => Promise<string>;

/** Makes that for a source. An inbox that fails is not asked. */
export function createTell({ name: receiver = "reports", reports: asked }: Source): TellView {
  const countsNow = throttle(() => ifKept<RequestCounts | null>(asked?.counts(), null));
  return async (view, isInboxUp = true) => {
    const reports = isInboxUp ? await countsNow() : null;
    return JSON.stringify({ receiver, reports, ...view });
  };
}

/** Adds the viewer to the data. */
export function withViewer(viewer: Person, seen: string): string {
  return `{"viewer":${JSON.stringify(viewer)},${seen.slice(1)}`;
}
