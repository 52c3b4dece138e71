import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { events, reasons, reasonWithCode, stateLabels } from "../labels.ts";
import { type Filters, go } from "../route.ts";

// On a phone they are behind a button until one is used: the list begins on its first screen.
const rare = ["event", "report", "request", "error", "id", "from", "until"] as const;

type Options = readonly (readonly [value: string, title: string])[];

const stateOptions: Options = [
  ["parked", "Parked (held or dead)"],
  ...Object.entries(stateLabels).map(([state, { name }]) => [state, name] as const),
];
const reasonOptions: Options = Object.keys(reasons).map((code) => [code, reasonWithCode(code)]);
const eventOptions: Options = events.map((name) => [name, name]);

/** The filters of a list; the address keeps them. A choice is applied at once, a text once typing has paused. */
export function Filtering({ filters }: { readonly filters: Filters }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A text that was typed a moment ago is dropped when the list changes or is left.
  useLayoutEffect(() => () => clearTimeout(typing.current), [filters]);
  const [isOpen] = useState(
    () => matchMedia("(min-width: 50rem)").matches || rare.some((name) => name in filters),
  );
  const apply = (replace: boolean): void => {
    if (form.current === null) return;
    go({ screen: "deliveries", filters: filtersOf(form.current, filters) }, { replace });
  };
  return (
    <form
      ref={form}
      class="filters"
      aria-label="Filters"
      autocomplete="off"
      spellcheck={false}
      onSubmit={(event) => event.preventDefault()}
      onChange={({ target }) => target instanceof HTMLSelectElement && apply(false)}
      onInput={({ target }) => {
        if (!(target instanceof HTMLInputElement)) return;
        clearTimeout(typing.current);
        const pauseMs = target.type === "search" ? 250 : 0;
        // A year of which two digits are typed is a year, too.
        if (target.validity.valid) typing.current = setTimeout(() => apply(true), pauseMs);
      }}
    >
      <Choice name="state" label="State" filters={filters} options={stateOptions} />
      <Choice name="reason" label="Reason" filters={filters} options={reasonOptions} />
      <button
        type="button"
        disabled={Object.keys(filters).length === 0}
        onClick={() => go({ screen: "deliveries", filters: {} })}
      >
        Clear
      </button>
      <details open={isOpen}>
        <summary>More filters</summary>
        <div>
          <Choice name="event" label="Event" filters={filters} options={eventOptions} />
          <TextField name="report" label="Report" hint="exact id" filters={filters} />
          <TextField name="request" label="Request" hint="exact id" filters={filters} />
          <TextField name="error" label="Error" hint="key of a group" filters={filters} />
          <TextField name="id" label="Delivery" hint="id, or how it begins" filters={filters} />
          <TimeField name="from" label="From (UTC)" filters={filters} />
          <TimeField name="until" label="Until (UTC)" filters={filters} />
        </div>
      </details>
    </form>
  );
}

/** The filters in a form; a time that is not one yet stays as it was `before`, and one that nobody changed to the millisecond. */
function filtersOf(form: HTMLFormElement, before: Filters): Filters {
  const given: Record<string, string> = {};
  for (const [name, value] of new FormData(form)) given[name] = String(value).trim();
  for (const name of ["from", "until"] as const) {
    const { value, validity } = form.elements.namedItem(name) as HTMLInputElement;
    const isNew = validity.valid && value !== shownTime(before[name]);
    given[name] = isNew ? isoOf(value) : (before[name] ?? "");
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
}

interface FieldProps {
  readonly name: keyof Filters;
  readonly label: string;
  readonly filters: Filters;
}

function Choice({
  name,
  label,
  filters,
  options,
}: FieldProps & { readonly options: Options }): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select name={name} value={filters[name] ?? ""}>
        <option value="">Any</option>
        {options.map(([value, title]) => (
          <option key={value} value={value} selected={filters[name] === value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function TextField({
  name,
  label,
  filters,
  hint,
}: FieldProps & { readonly hint: string }): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <input type="search" name={name} value={filters[name] ?? ""} placeholder={hint} />
    </label>
  );
}

function TimeField({ name, label, filters }: FieldProps): JSX.Element {
  const shown = shownTime(filters[name]);
  return (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={shown}
        min="1970-01-01T00:00"
        max="9999-12-31T23:59"
        onBlur={({ currentTarget }) => {
          if (!currentTarget.validity.valid) currentTarget.value = shown;
        }}
      />
    </label>
  );
}

function isoOf(shown: string): string {
  return shown === "" ? "" : new Date(`${shown}Z`).toISOString();
}

/** The time as an input of a browser takes it, to the minute and without a zone: it is UTC, as everywhere. */
function shownTime(iso: string | undefined): string {
  const date = new Date(iso ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 16);
}
