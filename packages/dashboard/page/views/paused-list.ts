import type {
  ClassAttributes,
  HTMLAttributes,
  TargetedFocusEvent,
  TargetedMouseEvent,
} from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** An entry of a list. */
export interface Listed {
  readonly id: string;
}

/** A list that pauses while it is in use. */
export interface PausedList<T> {
  readonly shown: readonly T[];
  /** How many wait to be shown. */
  readonly fresh: number;
  /** Shows them. */
  readonly show: () => void;
  /** The properties of the element that holds the list. */
  readonly hold: HTMLAttributes<HTMLDivElement> & ClassAttributes<HTMLDivElement>;
}

/** Pauses a list under a pointer or the focus: new entries wait until the user shows them. Newest first, as ids are. */
export function usePausedList<T extends Listed>(entries: readonly T[]): PausedList<T> {
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
    const next = isInUse(root.current) ? list.shown : [];
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

function isInUse(element: Element | null): boolean {
  return element?.matches(":hover, :focus-within") === true;
}

function inPlace<T extends Listed>(
  held: readonly T[],
  last: string,
  entries: readonly T[],
): Pick<PausedList<T>, "shown" | "fresh"> {
  const now = new Map(entries.map((entry) => [entry.id, entry]));
  // It keeps its place, even if it no longer fits the list.
  const shown = held.map((entry) => now.get(entry.id) ?? entry);
  const older = entries.filter(({ id }) => id < last);
  const known = new Set([...shown, ...older].map(({ id }) => id));
  return {
    shown: [...shown, ...older],
    fresh: entries.filter(({ id }) => !known.has(id)).length,
  };
}
