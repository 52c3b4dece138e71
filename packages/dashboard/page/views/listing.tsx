import type { JSX, TargetedFocusEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { maxListLength, pageLength, type WirePage } from "../../src/deliveries/wire.ts";
import { count } from "../labels.ts";
import { go, type PageQuery } from "../route.ts";
import { Screen } from "../screen.tsx";

type Listed = { readonly id: string };

interface Parts<T, List> {
  /** How many fit; null where that is not known. */
  readonly totalOf: (list: List) => number | null;
  /** The address of what is older than the last entry, where a list is as long as it may get. */
  readonly beyond: (last: T) => string;
  readonly row: (entry: T) => JSX.Element;
  readonly buttons?: (list: List) => JSX.Element;
  /** Shown above the list. */
  readonly above?: (list: List) => JSX.Element | null;
  /** In the place of an empty list. */
  readonly nothing: JSX.Element;
}

/** A screen with a list, newest first, as its entries come and change; of other filters it begins again. */
export function ListScreen<T extends Listed, List extends WirePage<T>>({
  title,
  filters,
  top,
  ...parts
}: Parts<T, List> & {
  readonly title: "Deliveries" | "Reports";
  readonly filters: PageQuery;
  readonly top: JSX.Element;
}): JSX.Element {
  const subject = String(new URLSearchParams(filters));
  const [asked, setAsked] = useState({ subject, limit: pageLength });
  const limit = asked.subject === subject ? asked.limit : pageLength;
  const address = `api/${title.toLowerCase()}?limit=${limit}&${subject}`;
  const grow = (longer: number): void => setAsked({ subject, limit: longer });
  return (
    <Screen<List> title={title} address={address} subject={subject} top={top}>
      {(list) => <Listing key={subject} list={list} limit={limit} grow={grow} parts={parts} />}
    </Screen>
  );
}

function Listing<T extends Listed, List extends WirePage<T>>({
  list,
  limit,
  grow,
  parts: { totalOf, beyond, row, buttons, above, nothing },
}: {
  readonly list: List;
  readonly limit: number;
  readonly grow: (limit: number) => void;
  readonly parts: Parts<T, List>;
}): JSX.Element {
  const { entries, more } = list;
  const { shown, fresh, show, hold } = usePaused(entries);
  const older = (): void => {
    const longer = fresh + shown.length + pageLength;
    const last = shown.at(-1);
    if (longer <= maxListLength || last === undefined) grow(longer);
    else go(beyond(last));
  };
  // It was counted at another moment: fewer than those that are shown would be no number of all.
  const total = totalOf(list);
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
        {buttons?.(list)}
      </div>
      {above?.(list)}
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
  const now = new Map(entries.map((entry) => [entry.id, entry]));
  // Each keeps its place, even if it no longer fits the list; older ones follow.
  const kept = held.map((entry) => now.get(entry.id) ?? entry);
  const shown = [...kept, ...entries.filter(({ id }) => last === undefined || id < last)];
  const known = new Set(shown.map(({ id }) => id));
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (last === undefined) return;
    // The element under the pointer or with the focus may disappear without an event.
    const isInUse = root.current?.matches(":hover, :focus-within") === true;
    const next = isInUse ? shown : [];
    if (next.length !== held.length) setHeld((now) => (now === held ? next : now));
  });
  const begin = () => last === undefined && setHeld(entries);
  return {
    shown,
    /** How many wait. */
    fresh: entries.filter(({ id }) => !known.has(id)).length,
    show: () => setHeld(entries),
    hold: {
      ref: root,
      onMouseMove: begin,
      onMouseLeave: () => root.current?.contains(document.activeElement) || setHeld([]),
      onFocusIn: begin,
      onFocusOut: ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLDivElement>) => {
        const stays = currentTarget.contains(relatedTarget as Node | null);
        if (!stays && !currentTarget.matches(":hover")) setHeld([]);
      },
    },
  };
}
