import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { events, reasons, reasonWithCode, stateLabels } from "../labels.ts";
import { go, listAt, type PageQuery } from "../route.ts";

/** A field with options, or of a text with a hint, or else of a time. */
interface Field {
  readonly label: string;
  readonly hint?: string;
  /** The titles by their values. */
  readonly options?: readonly (readonly [value: string, title: string])[];
}

type Fields = Readonly<Record<string, Field>>;

const states = Object.entries(stateLabels).map(([state, { name }]) => [state, name] as const);
const common: Fields = {
  state: { label: "State", options: [["parked", "Parked (held or dead)"], ...states] },
  reason: {
    label: "Reason",
    options: Object.keys(reasons).map((code) => [code, reasonWithCode(code)]),
  },
};
// On a phone they are behind a button until one is used: the list begins on its first screen.
const rare: Fields = {
  event: { label: "Event", options: events.map((name) => [name, name]) },
  report: { label: "Report", hint: "exact id" },
  request: { label: "Request", hint: "exact id" },
  error: { label: "Error", hint: "key of a group" },
  id: { label: "Delivery", hint: "id, or how it begins" },
  from: { label: "From (UTC)" },
  until: { label: "Until (UTC)" },
};

/** The filters that are set in a query, which may have other names. */
export function filtersIn(query: PageQuery): PageQuery {
  const isSet = ([name, value]: [string, string]) =>
    value !== "" && Object.hasOwn({ ...common, ...rare }, name);
  return Object.fromEntries(Object.entries(query).filter(isSet));
}

/** The filters of a list; the address keeps them. A choice is applied at once, a text once typing has paused. */
export function Filtering({ filters }: { readonly filters: PageQuery }): JSX.Element {
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A text that was typed a moment ago is dropped when the list changes or is left.
  useLayoutEffect(() => () => clearTimeout(typing.current), [filters]);
  const [isOpen] = useState(
    () =>
      matchMedia("(min-width: 50rem)").matches || Object.keys(rare).some((name) => name in filters),
  );
  const apply = (form: HTMLFormElement, replace: boolean): void =>
    go(listAt(filtersOf(form, filters)), replace);
  const show = (fields: Fields): JSX.Element[] =>
    Object.entries(fields).map(([name, field]) => labelled(name, field, filters[name]));
  return (
    <form
      class="filters"
      aria-label="Filters"
      autocomplete="off"
      spellcheck={false}
      onSubmit={(event) => event.preventDefault()}
      onChange={({ target, currentTarget: form }) =>
        target instanceof HTMLSelectElement && apply(form, false)
      }
      onInput={({ target, currentTarget: form }) => {
        if (!(target instanceof HTMLInputElement)) return;
        clearTimeout(typing.current);
        const pauseMs = target.type === "search" ? 250 : 0;
        // A year of which two digits are typed is a year, too.
        if (target.validity.valid) typing.current = setTimeout(() => apply(form, true), pauseMs);
      }}
    >
      {show(common)}
      <button
        type="button"
        disabled={Object.keys(filters).length === 0}
        onClick={() => go(listAt({}))}
      >
        Clear
      </button>
      <details open={isOpen}>
        <summary>More filters</summary>
        <div>{show(rare)}</div>
      </details>
    </form>
  );
}

function labelled(name: string, { label, options, hint }: Field, value = ""): JSX.Element {
  const shown = shownTime(value);
  const id = `of-${name}`;
  return (
    <label key={name} for={id}>
      <span>{label}</span>
      {options !== undefined ? (
        <select id={id} name={name} value={value}>
          <option value="">Any</option>
          {options.map(([of, title]) => (
            <option key={of} value={of}>
              {title}
            </option>
          ))}
        </select>
      ) : hint !== undefined ? (
        <input id={id} type="search" name={name} value={value} placeholder={hint} />
      ) : (
        <input
          id={id}
          type="datetime-local"
          name={name}
          value={shown}
          min="1970-01-01T00:00"
          max="9999-12-31T23:59"
          onBlur={({ currentTarget }) => {
            if (!currentTarget.validity.valid) currentTarget.value = shown;
          }}
        />
      )}
    </label>
  );
}

/** The filters in a form; a time that is not one yet stays as it was `before`, and one that nobody changed to the millisecond. */
function filtersOf(form: HTMLFormElement, before: PageQuery): PageQuery {
  const given: Record<string, string> = {};
  for (const [name, value] of new FormData(form)) given[name] = String(value).trim();
  for (const name of ["from", "until"] as const) {
    const { value, validity } = form.elements.namedItem(name) as HTMLInputElement;
    if (!validity.valid || value === shownTime(before[name])) given[name] = before[name] ?? "";
    else if (value !== "") given[name] = new Date(`${value}Z`).toISOString();
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
}

/** The time as an input of a browser takes it, to the minute and without a zone: it is UTC, as everywhere. */
function shownTime(iso: string | undefined): string {
  const date = new Date(iso ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 16);
}
