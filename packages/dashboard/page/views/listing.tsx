import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { maxListLength, pageLength } from "../../src/deliveries/wire.ts";
import { count } from "../labels.ts";
import { type Listed, usePausedList } from "./paused-list.ts";

/** How many entries a list asks for. */
export interface Paging {
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
  list,
  paging: { limit, grow },
  goBeyond,
  row,
  buttons,
  nothing,
  children,
}: {
  readonly list: {
    readonly entries: readonly T[];
    readonly more: boolean;
    readonly total: number | null;
  };
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
  const { entries, more, total } = list;
  const { shown, fresh, show, hold } = usePausedList(entries);
  const older = (): void => {
    const longer = fresh + shown.length + pageLength;
    const last = shown.at(-1);
    if (longer <= maxListLength || last === undefined) grow(longer);
    else goBeyond(last);
  };
  return (
    <div {...hold}>
      <div class="bar">
        {fresh > 0 ? (
          <button type="button" onClick={show}>
            {fresh}
            {fresh === entries.length && more ? "+" : ""} new: show
          </button>
        ) : (
          <span>{shown.length > 0 && `Newest first, ${shownOf(shown.length, total)}`}</span>
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

/** It was counted at another moment: fewer than those that are shown would be no number of all. */
function shownOf(shown: number, total: number | null): string {
  return total !== null && total > shown ? `${shown} of ${count(total)} shown` : `${shown} shown`;
}
