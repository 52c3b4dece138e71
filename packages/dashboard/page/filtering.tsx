import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { events, reasons, reasonWithCode, stateLabels } from "./labels.ts";
import { type Filters, go } from "./route.ts";

// On a phone they are behind a button until one is used: the list begins on its first screen.
const rare = ["event", "report", "id", "from", "until"] as const;

/** The filters of a list; the address keeps them. */
export function Filtering({ filters }: { readonly filters: Filters }): JSX.Element {
  // Text typed a moment ago is applied with the next choice, and dropped when the screen is left.
  const typed = useRef<Filters>({});
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLayoutEffect(
    () => () => {
      clearTimeout(typing.current);
      typed.current = {};
    },
    [filters],
  );
  const show = (wanted: Filters, replace: boolean): void => {
    clearTimeout(typing.current);
    typed.current = {};
    const given = Object.entries(wanted).filter(([, value]) => value !== "");
    go({ screen: "deliveries", filters: Object.fromEntries(given) }, { replace });
  };
  const change = (name: keyof Filters, value: string, replace: boolean): void =>
    show({ ...filters, ...typed.current, [name]: value.trim() }, replace);
  const text = (name: "id" | "report", label: string, hint: string): JSX.Element => (
    <label>
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={filters[name] ?? ""}
        placeholder={hint}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget: { value } }) => {
          clearTimeout(typing.current);
          typed.current = { ...typed.current, [name]: value.trim() };
          typing.current = setTimeout(() => change(name, value, true), 250);
        }}
      />
    </label>
  );
  const choice = (
    name: "state" | "event" | "reason",
    label: string,
    options: readonly (readonly [string, string])[],
  ): JSX.Element => (
    <label>
      <span>{label}</span>
      <select
        name={name}
        value={filters[name] ?? ""}
        onChange={({ currentTarget: { value } }) => change(name, value, false)}
      >
        <option value="">Any</option>
        {options.map(([value, title]) => (
          <option key={value} value={value} selected={filters[name] === value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
  const moment = (name: "from" | "until", label: string): JSX.Element => (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={localOf(filters[name])}
        min="1970-01-01T00:00"
        max="9999-12-31T23:59"
        onInput={({ currentTarget: { value, validity } }) => {
          // A year of which two digits are typed is a year, too.
          if (!validity.valid) return;
          change(name, value === "" ? "" : new Date(value).toISOString(), true);
        }}
        onBlur={({ currentTarget }) => {
          if (!currentTarget.validity.valid) currentTarget.value = localOf(filters[name]);
        }}
      />
    </label>
  );
  const [isOpen] = useState(
    () => matchMedia("(min-width: 50rem)").matches || rare.some((name) => name in filters),
  );
  const stateNames = Object.entries(stateLabels).map(([state, { name }]) => [state, name] as const);
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {choice("state", "State", [["parked", "Parked (held or dead)"], ...stateNames])}
      {choice(
        "reason",
        "Reason",
        Object.keys(reasons).map((code) => [code, reasonWithCode(code)] as const),
      )}
      <button
        type="button"
        disabled={Object.keys(filters).length === 0}
        onClick={() => show({}, false)}
      >
        Clear
      </button>
      <details open={isOpen}>
        <summary>More filters</summary>
        <div>
          {choice(
            "event",
            "Event",
            events.map((name) => [name, name] as const),
          )}
          {text("report", "Report", "exact id")}
          {text("id", "Delivery", "id, or how it begins")}
          {moment("from", "From")}
          {moment("until", "Until")}
        </div>
      </details>
    </form>
  );
}

/** The local time that an input of a browser takes. */
function localOf(iso: string | undefined): string {
  const date = new Date(iso ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
