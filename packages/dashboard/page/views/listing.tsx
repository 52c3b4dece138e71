import type { ComponentChildren, JSX, TargetedFocusEvent, TargetedMouseEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { maxListLength, pageLength, type WirePage } from "../../src/deliveries/wire.ts";
import { count } from "../labels.ts";

interface Listed {
  readonly id: string;
}

/** How many entries a list asks for. */
interface Paging {
  readonly limit: number;
  readonly grow: (limit: number) => void;
}

/** Begins again with each subject. */
export function usePaging(subject: string): Paging {
  const [asked, setAsked] = useState({ subject, limit: pageLength });
  const limit = asked.subject === subject ? asked.limit : pageLength;
  return { limit, grow: (longer) => setAsked({ subject, limit: longer }) };
}

/** A list, newest first, as its entries come and change. */
export function Listing<T extends Listed>({
  list: { entries, more, total },
  paging: { limit, grow },
  goBeyond,
  row,
  buttons,
  nothing,
  children,
}: {
  readonly list: WirePage<T> & { readonly total: number | null };
  readonly paging: Paging;
  /** Goes to what is older than the last entry, where a list is as long as it may get. */
  readonly goBeyond: (last: T) => void;
  readonly row: (entry: T) => JSX.Element;
  readonly buttons?: ComponentChildren;
  /** In the place of an empty list. */
  readonly nothing: JSX.Element;
  /** Shown above the list. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { shown, fresh, show, hold } = usePaused(entries);
  const older = (): void => {
    const longer = fresh + shown.length + pageLength;
    const last = shown.at(-1);
    if (longer <= maxListLength || last === undefined) grow(longer);
    else goBeyond(last);
  };
  // It was counted at another moment: fewer than those that are shown would be no number of all.
  const of = total !== null && total > shown.length ? ` of ${count(total)}` : "";
  return (
    <div {...hold}>
      <div class="bar">
        {fresh > 0 ? (
          <button type="button" onClick={show}>
            {fresh}
            {fresh === entries.length && more ? "+" : ""} new: show
          </button>
        ) : (
          <span>{shown.length > 0 && `Newest first, ${shown.length}${of} shown`}</span>
        )}
        {buttons}
      </div>
      {children}
      {shown.length === 0 ? nothing : <ul class="list">{shown.map(row)}</ul>}
      {more && (
        <button type="button" class="load" onClick={older}>
          {entries.length < limit ? "Loading older ones…" : "Show older ones"}
        </button>
      )}
    </div>
  );
}

/**
 * Pauses a list under a pointer or the focus: new entries wait until the user shows them. Newest first, as ids are. `hold` has the
 * properties of the element that holds the list.
 */
function usePaused<T extends Listed>(entries: readonly T[]) {
  const [held, setHeld] = useState<readonly T[]>([]);
  const last = held.at(-1)?.id;
  const keep = (): void => setHeld(entries);
  const letGo = (): void => setHeld([]);
  const begin = (): void => {
    if (last === undefined) keep();
  };
  const list = last === undefined ? { shown: entries, fresh: 0 } : inPlace(held, last, entries);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (last === undefined) return;
    // The element under the pointer or with the focus may disappear without an event.
    const isInUse = root.current?.matches(":hover, :focus-within") === true;
    const next = isInUse ? list.shown : [];
    if (next.length !== held.length) setHeld((now) => (now === held ? next : now));
  });
  return {
    ...list,
    show: keep,
    hold: {
      ref: root,
      onMouseMove: begin,
      onMouseLeave: ({ currentTarget }: TargetedMouseEvent<HTMLDivElement>) => {
        if (!currentTarget.contains(document.activeElement)) letGo();
      },
      onFocusIn: begin,
      onFocusOut: ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLDivElement>) => {
        const stays = currentTarget.contains(relatedTarget as Node | null);
        if (!stays && !currentTarget.matches(":hover")) letGo();
      },
    },
  };
}

/** The held entries as they are now, with older ones after them, and the number of those that wait. */
function inPlace<T extends Listed>(held: readonly T[], last: string, entries: readonly T[]) {
  const now = new Map(entries.map((entry) => [entry.id, entry]));
  // Each keeps its place, even if it no longer fits the list.
  const kept = held.map((entry) => now.get(entry.id) ?? entry);
  const shown = [...kept, ...entries.filter(({ id }) => id < last)];
  const known = new Set(shown.map(({ id }) => id));
  return { shown, fresh: entries.filter(({ id }) => !known.has(id)).length };
}
